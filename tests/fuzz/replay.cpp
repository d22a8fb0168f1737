#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <vector>

#include "fuzz/target.h"

// Runs a fuzz target once on each file of the folders named on the command line, without a fuzzer:
// past findings stay fixed under any compiler. Folders that do not exist are passed over.

int main(int argc, char** argv) {
  namespace fs = std::filesystem;
  std::vector<fs::path> files;
  for (int i = 1; i < argc; ++i) {
    if (!fs::is_directory(argv[i])) continue;
    for (const fs::directory_entry& entry : fs::directory_iterator(argv[i])) {
      files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files) {
    std::printf("%s\n", file.c_str());
    std::fflush(stdout);  // the last line names the culprit
    const std::string bytes = curnm::testing::read_bytes(file);
    curnm::fuzz::LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                                        bytes.size());
  }
  if (files.empty()) std::fprintf(stderr, "no inputs\n");
  return files.empty() ? 1 : 0;
}
