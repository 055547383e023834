#include "sim/study/store/sqlite.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

#include <cstring>
#include <utility>

#include "sim/kernel/errors.hpp"

namespace headroom {
namespace {

std::string cause_of(int code, sqlite3* handle) {
  const int system = handle == nullptr ? 0 : sqlite3_system_errno(handle);
  const std::string why = system == 0 ? "" : fmt::format(" ({})", std::strerror(system));
  switch (code & 0xFF) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return "locked: another program is using it";
    case SQLITE_NOTADB: return "not a database";
    case SQLITE_CORRUPT: return "damaged or truncated; it was not changed";
    case SQLITE_FULL: return "no space left; the runs stored so far are kept";
    case SQLITE_READONLY:
    case SQLITE_PERM: return "cannot write: it is read-only";
    case SQLITE_CANTOPEN: return "cannot open" + why;
    case SQLITE_IOERR: return fmt::format("cannot read or write{}; the runs stored are kept", why);
    default: return handle == nullptr ? sqlite3_errstr(code) : std::string(sqlite3_errmsg(handle));
  }
}

}  // namespace

Statement::Statement(const Database& database, sqlite3_stmt* statement)
    : database_(&database), statement_(statement) {}

void Statement::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

void Statement::check(int code) const {
  if (code != SQLITE_OK) database_->fail(code);
}

Statement& Statement::bind(int parameter, std::int64_t value) {
  check(sqlite3_bind_int64(statement_.get(), parameter + 1, value));
  return *this;
}

Statement& Statement::bind(int parameter, double value) {
  check(sqlite3_bind_double(statement_.get(), parameter + 1, value));
  return *this;
}

Statement& Statement::bind(int parameter, std::string_view text) {
  check(sqlite3_bind_text64(statement_.get(), parameter + 1, text.data(), text.size(),
                            SQLITE_TRANSIENT, SQLITE_UTF8));
  return *this;
}

Statement& Statement::bind_null(int parameter) {
  check(sqlite3_bind_null(statement_.get(), parameter + 1));
  return *this;
}

bool Statement::step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) database_->fail(code);
  return false;
}

void Statement::run() {
  static_cast<void>(step());
  reset();
}

void Statement::reset() { check(sqlite3_reset(statement_.get())); }

bool Statement::is_null(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}

std::int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

double Statement::number(int column) const {
  return sqlite3_column_double(statement_.get(), column);
}

std::string Statement::text(int column) const {
  const auto* const bytes = static_cast<const char*>(sqlite3_column_blob(statement_.get(), column));
  const int size = sqlite3_column_bytes(statement_.get(), column);
  return bytes == nullptr ? std::string() : std::string(bytes, static_cast<std::size_t>(size));
}

Database::Database(std::string path, Mode mode) : path_(std::move(path)) {
  int flags = SQLITE_OPEN_READONLY;
  if (mode == Mode::create) flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  if (mode == Mode::existing) flags = SQLITE_OPEN_READWRITE;
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(path_.c_str(), &handle, flags, nullptr);
  handle_.reset(handle);
  if (code != SQLITE_OK) fail(code);
  sqlite3_extended_result_codes(handle, 1);
  // A writer holds the database for one transaction at a time: who only reads waits for it.
  constexpr int kPatienceMs = 5000;
  if (mode == Mode::read_only) sqlite3_busy_timeout(handle, kPatienceMs);
}

void Database::Close::operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }

void Database::fail(int code) const {
  throw ConfigError(
      Complaint{.origin = path_, .problem = fmt::format("{}", cause_of(code, handle_.get()))});
}

void Database::execute(const char* sql) {
  const int code = sqlite3_exec(handle_.get(), sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail(code);
}

Statement Database::prepare(std::string_view sql) const {
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v2(handle_.get(), sql.data(), static_cast<int>(sql.size()),
                                      &statement, nullptr);
  if (code != SQLITE_OK) fail(code);
  return {*this, statement};
}

bool Database::has_table(std::string_view name) const {
  Statement find = prepare("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?");
  return find.bind(0, name).step();
}

void Database::check_pages() const {
  Statement check = prepare("PRAGMA quick_check(1)");
  if (!check.step() || check.text(0) != "ok") fail(SQLITE_CORRUPT);
}

Transaction::Transaction(Database& database) : database_(database) {
  database_.execute("BEGIN IMMEDIATE");
}

Transaction::~Transaction() {
  if (!open_) return;
  try {
    database_.execute("ROLLBACK");
  } catch (const ConfigError&) {
    // SQLite has rolled back by itself after the failure that brought us here.
  }
}

void Transaction::commit() {
  database_.execute("COMMIT");
  open_ = false;
}

}  // namespace headroom
