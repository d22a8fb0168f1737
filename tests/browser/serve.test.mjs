// Opens the page of `curnm serve` in a real browser, as its users would.
//
//   CURNM_PROGRAM=build/release/curnm  the program; it makes a network, trains on it and serves
//   CURNM_SCREENSHOTS=folder           where pictures go, if anywhere
//   CHROMIUM=/usr/bin/chromium         the browser, if it is elsewhere

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { chromium } from "playwright-core";

const program = path.resolve(process.env.CURNM_PROGRAM ?? "curnm");
const screenshots = process.env.CURNM_SCREENSHOTS;
const token = "a secret of some length";
const views = {
  desktop: { viewport: { width: 1400, height: 900 } },
  dark: { viewport: { width: 1400, height: 900 }, colorScheme: "dark" },
  phone: { viewport: { width: 390, height: 844 } },
  "phone-dark": { viewport: { width: 390, height: 844 }, colorScheme: "dark" },
};

let folder, server, url, browser;

/** Starts the server; resolves with its address once it says it. */
const served = (...options) =>
  new Promise((resolve, reject) => {
    server = spawn(program, ["serve", "run", "--listen", "127.0.0.1:0", ...options], {
      cwd: folder, stdio: ["ignore", "ignore", "pipe"],
    });
    let said = "";
    server.stderr.on("data", (text) => {
      said += text;
      const found = said.match(/serving \S+ on (http:\/\/[^,]+\/), state/);
      if (found) resolve(found[1]);
    });
    server.on("exit", (code) => reject(new Error(`the server ended with ${code}: ${said}`)));
  });

before(async () => {
  folder = mkdtempSync(path.join(tmpdir(), "curnm-serve-"));
  const run = (...words) => execFileSync(program, words, { cwd: folder, stdio: "ignore" });
  run("generate", "--nodes", "60", "--events", "2000", "--communities", "3", "--one-mode", "--edge-features", "0", "--out", "net");
  run("train", "net", "--walk", "off", "--epochs", "1", "--out", "run");
  writeFileSync(path.join(folder, "token"), token);
  url = await served("--token-file", "token");
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox"], // needed as root; the page is our own
  });
  if (screenshots) mkdirSync(screenshots, { recursive: true });
});
after(async () => {
  await browser?.close();
  server?.removeAllListeners("exit");
  server?.kill("SIGTERM");
  rmSync(folder, { recursive: true, force: true });
});

const api = async (target, options) => {
  const headers = { Authorization: `Bearer ${token}` };
  const response = await fetch(url + target, { headers, ...options });
  assert.equal(response.status, 200, await response.clone().text());
  return response.json();
};

/** Opens the page, and checks after `look` that it was quiet and asked nobody else. */
async function visit(options, hash, look) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  const complaints = [];
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("request", (request) => {
    if (!request.url().startsWith(url)) complaints.push(`request of ${request.url()}`);
  });
  await page.goto(url + hash);
  await look(page);
  assert.deepEqual(complaints, []);
  await context.close();
}

for (const [name, options] of Object.entries(views)) {
  test(`asks, answers and says why (${name})`, () =>
    visit(options, `#token=${encodeURIComponent(token)}`, async (page) => {
      const expected = await api("v1/topk?src=7&k=10&explain=1");
      await page.fill("#node", "7");
      await page.click("button");
      await page.waitForSelector("#answers tbody tr:nth-child(10)");
      const rows = await page.$$eval("#answers tbody tr", (all) =>
        all.map((row) => [...row.cells].map((cell) => cell.textContent)));
      expected.answers.forEach((answer, i) => {
        assert.equal(rows[i][0], answer.dst);
        assert.equal(rows[i][1], `${(100 * answer.probability).toFixed(1)} %`);
        assert.ok(rows[i][2].startsWith(answer.why.words), rows[i][2]);
        const most = Object.entries(answer.why.moved).sort((a, b) => Math.abs(b[1]) - Math.abs(a[1]));
        assert.ok(rows[i][2].includes(most[0][0]), "the part that moves most");
      });
      assert.match(await page.textContent("#facts"), /^\d+ events, \d+ partners/);
      assert.match(await page.textContent("#figures"), /light \/ pair/);
      const overflow = await page.evaluate(() =>
        document.documentElement.scrollWidth - document.documentElement.clientWidth);
      assert.equal(overflow, 0, "nothing is wider than the screen");
      if (screenshots) {
        await page.screenshot({ path: path.join(screenshots, `serve-${name}.png`), fullPage: true });
      }
    }));
}

test("what happens is seen, and counted by the minute", () =>
  visit(views.desktop, `#token=${encodeURIComponent(token)}`, async (page) => {
    const shown = async () => Number((await page.textContent(
      "#figures div:nth-child(2) dd")).replaceAll(",", ""));
    await page.waitForSelector("#figures dd");
    const events = await shown();
    const { newest } = await api("healthz");
    const { dst } = (await api("v1/topk?src=7&k=1")).answers[0];
    const told = [0, 1, 2].map((i) => ({ src: "7", dst, time: newest + i }));
    await api("v1/events", {
      method: "POST", body: JSON.stringify({ events: told }),
      headers: { Authorization: `Bearer ${token}` },
    });
    await page.waitForFunction((least) =>
      Number(document.querySelector("#figures div:nth-child(2) dd").textContent
        .replaceAll(",", "")) >= least, events + 3, { timeout: 15000 });
    const heights = await page.$$eval("#rate rect", (bars) => bars.map((bar) => +bar.getAttribute("height")));
    assert.ok(Math.max(...heights) > 0, "a bar of the events");
  }));

test("mistakes are said", async () => {
  await visit(views.phone, `#token=${encodeURIComponent(token)}`, async (page) => {
    await page.fill("#node", "<b>nobody</b>");
    await page.click("button");
    await page.waitForFunction(() => document.querySelector("#problem").textContent !== "");
    assert.match(await page.textContent("#problem"), /there is no node/);
    assert.equal(await page.$("#problem b"), null, "names are text");
    assert.equal(await page.isVisible("#answers"), false);
  });
  await visit(views.phone, "", async (page) => {
    await page.fill("#node", "7");
    await page.click("button");
    await page.waitForFunction(() => document.querySelector("#problem").textContent !== "");
    assert.match(await page.textContent("#problem"), /token/);
  });
});
