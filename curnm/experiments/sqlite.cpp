#include "curnm/experiments/sqlite.h"

#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "curnm/base/error.h"

namespace curnm::sqlite {
namespace {

/// Writers wait this long for each other before one gives up.
constexpr int kPatienceMilliseconds = 60'000;

bool has_log(const std::filesystem::path& file) {
  std::error_code none;
  const auto size = std::filesystem::file_size(file.string() + "-wal", none);
  return !none && size > 0;
}

/// The file as a URI. In a read-only folder SQLite cannot create its write-ahead log; if there is
/// none, nobody is writing, and the file is opened as immutable.
std::string address_of(const std::filesystem::path& file, int flags) {
  std::string address = "file:";
  for (const char c : std::filesystem::absolute(file).string()) {
    if (c == '?' || c == '#' || c == '%') {
      address += fmt::format("%{:02x}", static_cast<unsigned char>(c));
    } else {
      address += c;
    }
  }
  const std::filesystem::path folder = std::filesystem::absolute(file).parent_path();
  const bool fixed =
      (flags & SQLITE_OPEN_READONLY) != 0 && ::access(folder.c_str(), W_OK) != 0 && !has_log(file);
  return fixed ? address + "?immutable=1" : address;
}

}  // namespace

const char* journal_for(long file_system) {
  // NFS, SMB (three numbers), AFS, Ceph, FUSE (sshfs and others), 9P, Lustre, GPFS, BeeGFS, OCFS2,
  // GFS2.
  constexpr std::array<long, 14> kShared = {
      0x6969,     0x517b,     0xff534d42, 0xfe534d42, 0x5346414f, 0x00c36400, 0x65735546,
      0x01021997, 0x0bd00bd0, 0x47504653, 0x19830326, 0x7461636f, 0x01161970, 0x6b414653};
  const bool shared = std::find(kShared.begin(), kShared.end(), file_system) != kShared.end();
  return shared ? "DELETE" : "WAL";
}

long file_system_of(const std::filesystem::path& file) {
  struct statfs status {};
  const std::filesystem::path folder = std::filesystem::absolute(file).parent_path();
  if (::statfs(folder.c_str(), &status) != 0) return 0;
  return static_cast<long>(static_cast<unsigned int>(status.f_type));
}

Database::Database(const std::filesystem::path& file, int flags) : file_(file) {
  const int code =
      sqlite3_open_v2(address_of(file, flags).c_str(), &handle_, flags | SQLITE_OPEN_URI, nullptr);
  if (code != SQLITE_OK) {
    try {
      raise(code);
    } catch (...) {
      sqlite3_close(handle_);
      throw;
    }
  }
  sqlite3_busy_timeout(handle_, kPatienceMilliseconds);
}

Database::~Database() { sqlite3_close(handle_); }

void Database::execute(const char* sql) {
  const int code = sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) raise(code);
}

void Database::raise(int code) const {
  const std::string reason = handle_ == nullptr ? "out of memory" : sqlite3_errmsg(handle_);
  switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      fail("{} is locked by another program for more than {} s: {}", file_.string(),
           kPatienceMilliseconds / 1000, reason);
    case SQLITE_NOTADB:
      fail("{} is not a store of results: {}", file_.string(), reason);
    case SQLITE_CORRUPT:
      raise_damaged(reason);
    case SQLITE_FULL:
      fail<DiskFull>("cannot write {}: the disk is full", file_.string());
    default:
      fail("{}: {}", file_.string(), reason);
  }
}

void Database::raise_damaged(std::string_view reason) const {
  fail(
      "{} is damaged: {}. The folders of its runs are whole: move it away and start the "
      "experiment again, which takes their results without training",
      file_.string(), reason);
}

Statement::Statement(Database& database, std::string_view sql) : database_(database) {
  const int code = sqlite3_prepare_v2(database.handle(), sql.data(), static_cast<int>(sql.size()),
                                      &handle_, nullptr);
  if (code != SQLITE_OK) database.raise(code);
}

Statement::~Statement() { sqlite3_finalize(handle_); }

bool Statement::next() {
  const int code = sqlite3_step(handle_);
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) database_.raise(code);
  sqlite3_reset(handle_);
  return false;
}

double Statement::real(int column) const {
  if (sqlite3_column_type(handle_, column) == SQLITE_NULL) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  return sqlite3_column_double(handle_, column);
}

std::string_view Statement::text(int column) const {
  const auto* begin = reinterpret_cast<const char*>(sqlite3_column_text(handle_, column));
  if (begin == nullptr) return {};
  return {begin, static_cast<std::size_t>(sqlite3_column_bytes(handle_, column))};
}

void Statement::bind(int index, std::int64_t value) { sqlite3_bind_int64(handle_, index, value); }

void Statement::bind(int index, double value) {
  if (std::isnan(value)) {
    sqlite3_bind_null(handle_, index);
  } else {
    sqlite3_bind_double(handle_, index, value);
  }
}

void Statement::bind(int index, std::string_view value) {
  sqlite3_bind_text(handle_, index, value.data(), static_cast<int>(value.size()), SQLITE_TRANSIENT);
}

Transaction::~Transaction() {
  if (open_) sqlite3_exec(database_.handle(), "ROLLBACK", nullptr, nullptr, nullptr);
}

void Transaction::commit() {
  database_.execute("COMMIT");
  open_ = false;
}

}  // namespace curnm::sqlite
