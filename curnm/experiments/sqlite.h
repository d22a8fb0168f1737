#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

// SQLite with exceptions and types: only what the store needs.

namespace curnm::sqlite {

/// The journal for a store on a file system of this type (statfs). SQLite's write-ahead log needs
/// memory that all processes share, which machines do not; there a rollback journal is used.
const char* journal_for(long file_system);
/// The type of the file system that the file is on, or will be.
long file_system_of(const std::filesystem::path& file);

class Database {
 public:
  /// REQUIRES: `flags` as for sqlite3_open_v2.
  Database(const std::filesystem::path& file, int flags);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  void execute(const char* sql);
  std::int64_t last_id() const { return sqlite3_last_insert_rowid(handle_); }
  sqlite3* handle() const { return handle_; }
  /// Throws an Error that says what happened to which file, and what to do.
  [[noreturn]] void raise(int code) const;
  [[noreturn]] void raise_damaged(std::string_view reason) const;

 private:
  std::filesystem::path file_;
  sqlite3* handle_ = nullptr;
};

/// A prepared statement. Parameters and columns count from 0, in the order of the text.
class Statement {
 public:
  Statement(Database& database, std::string_view sql);
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  /// Binds all parameters, forgetting the rows of an earlier use.
  template <class... Values>
  Statement& operator()(const Values&... values) {
    sqlite3_reset(handle_);
    int index = 0;
    (bind(++index, values), ...);
    return *this;
  }
  /// The next row; false after the last.
  bool next();
  /// For statements without rows.
  void run() {
    while (next()) {
    }
  }

  std::int64_t integer(int column) const { return sqlite3_column_int64(handle_, column); }
  double real(int column) const;  // NaN for NULL
  std::string_view text(int column) const;
  std::string string(int column) const { return std::string(text(column)); }

 private:
  void bind(int index, std::int64_t value);
  void bind(int index, double value);  // NULL for NaN
  void bind(int index, std::string_view value);

  Database& database_;
  sqlite3_stmt* handle_ = nullptr;
};

/// All or nothing. Takes the write lock at once by default, so that no other process can change
/// what was read before it commits.
class Transaction {
 public:
  explicit Transaction(Database& database, const char* begin = "BEGIN IMMEDIATE")
      : database_(database) {
    database_.execute(begin);
  }
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit();

 private:
  Database& database_;
  bool open_ = true;
};

}  // namespace curnm::sqlite
