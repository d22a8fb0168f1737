// Opens reports in a real browser, as their readers would.
//
//   CURNM_REPORT_PAGE=grid.html,run.html  the pages; `./dev test` passes those of make_pages
//   CURNM_SCREENSHOTS=folder              where pictures of them go, if anywhere
//   CHROMIUM=/usr/bin/chromium            the browser, if it is elsewhere

import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const pages = (process.env.CURNM_REPORT_PAGE ?? "").split(",").filter(Boolean);
const screenshots = process.env.CURNM_SCREENSHOTS;
const desktop = { width: 1400, height: 900 };
const tablet = { width: 800, height: 1100 };
const phone = { width: 390, height: 844 };

let browser;
before(async () => {
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox"], // needed as root; the pages are our own
  });
  if (screenshots) mkdirSync(screenshots, { recursive: true });
});
after(() => browser?.close());

test("there are pages to look at", () => assert.ok(pages.length > 0, "set CURNM_REPORT_PAGE"));

/** Opens the page and, once `look` is done, checks that it was quiet and asked for nothing. */
async function visit(file, options, look) {
  const context = await browser.newContext({ viewport: desktop, ...options });
  const page = await context.newPage();
  const url = pathToFileURL(path.resolve(file)).href;
  const complaints = [];
  page.on("console", (message) => complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("request", (request) => {
    if (request.url() !== url) complaints.push(`request of ${request.url()}`);
  });
  await page.goto(url);
  await look(page);
  assert.deepEqual(complaints, []);
  await context.close();
}

const picture = (page, file, name) =>
  screenshots &&
  page.screenshot({
    path: path.join(screenshots, `${path.basename(file, ".html")}-${name}.png`),
    fullPage: true,
  });

const pageOverflow = (page) =>
  page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);

/** Texts of charts that leave their chart or lie on each other. */
const brokenChartTexts = (page) =>
  page.evaluate(() => {
    const broken = [];
    for (const chart of document.querySelectorAll("svg.chart")) {
      const frame = chart.getBoundingClientRect();
      if (frame.width === 0) continue; // of a view that is not chosen
      const boxes = [...chart.querySelectorAll("text")].map((text) => [
        text.textContent,
        text.getBoundingClientRect(),
      ]);
      boxes.forEach(([text, box], i) => {
        const leaves =
          box.left < frame.left - 1 || box.right > frame.right + 1 ||
          box.top < frame.top - 1 || box.bottom > frame.bottom + 1;
        if (leaves) broken.push(`"${text}" is clipped`);
        for (const [other, otherBox] of boxes.slice(i + 1)) {
          const apart =
            box.right <= otherBox.left || otherBox.right <= box.left ||
            box.bottom <= otherBox.top + 2 || otherBox.bottom <= box.top + 2;
          if (!apart) broken.push(`"${text}" lies on "${other}"`);
        }
      });
    }
    return broken;
  });

/** Contrast of all visible texts with what is behind them, as WCAG defines it; the worst ones. */
const poorContrasts = (page, least) =>
  page.evaluate((least) => {
    const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    const rgba = (colour) => {
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = colour;
      canvas.fillRect(0, 0, 1, 1);
      return canvas.getImageData(0, 0, 1, 1).data;
    };
    const luminance = (colour) => {
      const [r, g, b] = [...rgba(colour)].slice(0, 3).map((channel) => {
        const c = channel / 255;
        return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
      });
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const background = (element) => {
      for (let e = element; e; e = e.parentElement) {
        const colour = getComputedStyle(e).backgroundColor;
        if (rgba(colour)[3] > 0) return colour;
      }
      return "white";
    };
    const seen = new Map();
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const element = walker.currentNode.parentElement;
      if (!walker.currentNode.textContent.trim() || !element.checkVisibility()) continue;
      if (element.closest("script")) continue;
      const style = getComputedStyle(element);
      const colour = element.closest("svg") ? style.fill : style.color;
      const key = `${colour} on ${background(element)}`;
      if (seen.has(key)) continue;
      const [dark, light] = [luminance(colour), luminance(background(element))].sort((a, b) => a - b);
      seen.set(key, (light + 0.05) / (dark + 0.05));
    }
    return [...seen].filter(([, ratio]) => ratio < least);
  }, least);

for (const file of pages) {
  const name = path.basename(file, ".html");

  for (const [device, viewport] of Object.entries({ desktop, tablet, phone })) {
    for (const colorScheme of ["light", "dark"]) {
      test(`${name}: ${device}, ${colorScheme}`, () =>
        visit(file, { viewport, colorScheme }, async (page) => {
          await picture(page, file, `${device}-${colorScheme}`);
          assert.ok((await pageOverflow(page)) <= 0, "the page scrolls sideways");
          assert.deepEqual(await poorContrasts(page, 4.5), []);
          assert.deepEqual(await brokenChartTexts(page), []);
          for (const chart of await page.locator("svg.chart:visible").all()) {
            const box = await chart.boundingBox();
            assert.ok(box.width > 200 && box.height > 50, "a chart is too small");
          }
        }));
    }
  }

  test(`${name}: a question has one colour in the key of every chart`, () =>
    visit(file, {}, async (page) => {
      const colours = await page.evaluate(() => {
        const found = {};
        for (const title of document.querySelectorAll("figcaption strong")) {
          if (!title.textContent.endsWith("by question.")) continue;
          for (const item of title.closest("figure").querySelector(".key").children) {
            if (item.querySelector(".best-epoch")) continue;
            const style = getComputedStyle(item.querySelector("path"));
            const colour = item.querySelector(".area") ? style.fill : style.stroke;
            const [r, g, b] = colour.match(/\d+/g).map(Number);
            const green = g > Math.max(r, b) + 20;
            const hue = green ? "green" : Math.abs(r - b) < 40 ? "grey" : r > b ? "warm" : "blue";
            (found[item.textContent] ??= new Set()).add(hue);
          }
        }
        return Object.entries(found).map(([label, hues]) => [label, ...hues]);
      });
      const expected = [
        ["pair", "warm"], ["destination", "grey"], ["partner", "blue"], ["new pair", "green"],
      ];
      assert.deepEqual(colours, colours.length > 0 ? expected : []);
      if (name === "questions") assert.equal(colours.length, 4);
    }));

  test(`${name}: begins with a summary, and links of the contents lead somewhere`, () =>
    visit(file, {}, async (page) => {
      if (name === "empty") return assert.equal(await page.locator("nav").count(), 0);
      assert.equal(await page.locator("main section").first().getAttribute("id"), "summary");
      assert.ok((await page.locator("#summary .findings li").count()) > 0, "nothing is answered");
      const links = await page.locator("nav a").all();
      assert.ok(links.length >= 4, "too few contents");
      for (const link of links) {
        await link.click();
        const target = page.locator(await link.getAttribute("href"));
        assert.equal(await target.count(), 1);
        const heading = target.locator("h2, h3").first();
        assert.equal(await heading.innerText(), await link.innerText());
        assert.ok(await heading.isVisible());
      }
    }));

  test(`${name}: headings leave out no level`, () =>
    visit(file, {}, async (page) => {
      const levels = await page.evaluate(() =>
        [...document.querySelectorAll("h1, h2, h3, h4")].map((heading) => Number(heading.tagName[1])));
      assert.equal(levels[0], 1);
      levels.slice(1).forEach((level, i) => assert.ok(level <= levels[i] + 1, `${levels}`));
    }));

  test(`${name}: every figure has one caption, every mark an explanation`, () =>
    visit(file, {}, async (page) => {
      const broken = await page.evaluate(() => {
        const broken = [];
        for (const figure of document.querySelectorAll("figure")) {
          const captions = figure.querySelectorAll("figcaption");
          if (captions.length !== 1) broken.push(`${captions.length} captions`);
          if (figure.querySelectorAll("svg.chart").length > 1) broken.push("charts share a caption");
          if (figure.querySelector("abbr") && !captions[0].textContent.includes("†")) {
            broken.push(`${captions[0].textContent} does not explain †`);
          }
        }
        return broken;
      });
      assert.deepEqual(broken, []);
      if (name === "grid" || name === "run") assert.ok((await page.locator("abbr").count()) > 0);
    }));

  test(`${name}: on a phone, labels and the method's own column stay visible`, () =>
    visit(file, { viewport: phone }, async (page) => {
      const lost = await page.evaluate(async () => {
        const lost = [];
        for (const box of document.querySelectorAll(".scroll")) {
          if (!box.checkVisibility()) continue;
          const frame = box.getBoundingClientRect();
          const columns = ["th[scope=row], thead th:first-child"];
          if (box.querySelector(".own")) columns.push(".own");
          for (const at of [0, 0.5, 1]) {
            box.scrollLeft = at * (box.scrollWidth - box.clientWidth);
            for (const column of columns) {
              for (const cell of box.querySelectorAll(column)) {
                const { left, right } = cell.getBoundingClientRect();
                if (left < frame.left - 1 || right > frame.right + 1) {
                  lost.push(`${cell.textContent} at ${at}`);
                }
              }
            }
          }
        }
        return lost;
      });
      assert.deepEqual(lost, []);
      if (name !== "empty") assert.ok((await page.locator("td.own:visible").count()) > 0);
    }));

  test(`${name}: charts of one run mark its best epoch`, () =>
    visit(file, {}, async (page) => {
      const isRun = (await page.locator(".group").count()) === 0; // several have a heading each
      const charts = await page.locator("svg.chart").count();
      const marked = await page.locator("svg.chart:has(.best-epoch)").count();
      if (isRun) assert.equal(marked, charts);
      assert.equal(await page.locator(".key .best-epoch").count(), marked, "the keys say so");
    }));

  test(`${name}: switches show one view at a time, without scripts`, () =>
    visit(file, { javaScriptEnabled: false }, async (page) => {
      assert.notEqual((await page.locator("main").innerText()).trim(), "");
      for (const views of await page.locator(".views").all()) {
        const titles = new Set();
        for (const set of await views.locator("fieldset").nth(0).locator("label").all()) {
          await set.click();
          for (const question of await views.locator("fieldset").nth(1).locator("label").all()) {
            await question.click();
            const shown = views.locator(".view:visible");
            assert.equal(await shown.count(), 1);
            titles.add(await shown.locator(".sheet figcaption strong").first().innerText());
          }
        }
        assert.equal(titles.size, await views.locator(".view").count(), "each view comes up once");
      }
    }));

  test(`${name}: switches work by keyboard`, () =>
    visit(file, {}, async (page) => {
      for (const views of await page.locator(".views").all()) {
        const titleOf = () => views.locator(".view:visible .sheet figcaption strong").first().innerText();
        const before = await titleOf();
        await views.locator("fieldset").nth(1).locator("input").first().focus();
        await page.keyboard.press("ArrowRight");
        assert.notEqual(await titleOf(), before);
      }
    }));

  test(`${name}: tables sort by mouse and keyboard`, () =>
    visit(file, {}, async (page) => {
      for (const table of await page.locator("table.sortable:visible").all()) {
        const header = table.locator("thead th").last();
        const button = header.locator("button");
        const column = (await table.locator("thead th").count()) - 1;
        const cells = () =>
          table.locator("tbody tr").evaluateAll(
            (rows, i) => rows.map(({ cells }) => cells[i].dataset.key ?? `text ${cells[i].textContent}`),
            column,
          );
        const original = await cells();
        const isText = (cell) => cell.startsWith("text ");
        const isNumeric = !original.every(isText);
        const known = original.filter((cell) => !isNumeric || !isText(cell)); // the others stay last
        const collator = new Intl.Collator(undefined, { numeric: true });
        const order = (a, b) => (isNumeric ? a - b : collator.compare(a, b));

        await button.click();
        assert.equal(await header.getAttribute("aria-sort"), "descending");
        const largestFirst = [...known].sort((a, b) => order(b, a));
        assert.deepEqual((await cells()).slice(0, known.length), largestFirst);
        await button.focus();
        await page.keyboard.press("Enter");
        assert.equal(await header.getAttribute("aria-sort"), "ascending");
        assert.deepEqual((await cells()).slice(0, known.length), [...known].sort(order));
        assert.equal((await cells()).length, original.length);
        await page.keyboard.press("Space");
        assert.equal(await header.getAttribute("aria-sort"), "none");
        assert.deepEqual(await cells(), original);
      }
    }));

  for (const javaScriptEnabled of [true, false]) {
    test(`${name}: print shows everything, ${javaScriptEnabled ? "with" : "without"} scripts`, () =>
      visit(file, { javaScriptEnabled, colorScheme: "dark" }, async (page) => {
        if (javaScriptEnabled) await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
        await page.emulateMedia({ media: "print" });
        await page.setViewportSize({ width: 1030, height: 720 }); // A4 landscape within its margins
        const everything = page.locator(".view, table, svg.chart");
        for (const element of await everything.all()) assert.ok(await element.isVisible());
        assert.ok((await pageOverflow(page)) <= 0, "something is cut off on paper");
        if (!javaScriptEnabled) return;
        assert.deepEqual(await poorContrasts(page, 4.5), []);
        await picture(page, file, "print");
        if (screenshots) await page.pdf({ path: path.join(screenshots, `${name}.pdf`), preferCSSPageSize: true });
      }));
  }
}
