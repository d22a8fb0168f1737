#pragma once

#include "curnm/data/reader.h"

// The formats, one file each.

namespace curnm {

bool recognises_csv(const std::filesystem::path& path);
bool recognises_jsonl(const std::filesystem::path& path);
Dataset read_table(const std::filesystem::path& path, const ReadOptions& options);

bool recognises_tgl(const std::filesystem::path& path);
Dataset read_tgl(const std::filesystem::path& path, const ReadOptions& options);

bool recognises_dyglib(const std::filesystem::path& path);
Dataset read_dyglib(const std::filesystem::path& path, const ReadOptions& options);

bool recognises_jodie(const std::filesystem::path& path);
Dataset read_jodie(const std::filesystem::path& path, const ReadOptions& options);

}  // namespace curnm
