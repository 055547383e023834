#include "sim/server/tls_files.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/system/error_code.hpp>

#include "sim/kernel/errors.hpp"
#include "sim/kernel/text_file.hpp"

namespace headroom {
namespace {

namespace asio = boost::asio;
namespace ssl = boost::asio::ssl;

[[noreturn]] void refuse_file(const char* flag, const std::string& file,
                              const std::string& problem) {
  throw ConfigError(
      Complaint{.kind = ErrorKind::unreadable, .origin = flag, .value = file, .problem = problem});
}

}  // namespace

ssl::context server_tls(const std::string& certificate_file, const std::string& key_file) {
  constexpr const char* kCertificateFlag = "--ssl-certfile";
  const char* key_flag = key_file.empty() ? kCertificateFlag : "--ssl-keyfile";
  const std::string& key_from = key_file.empty() ? certificate_file : key_file;
  const std::string certificates = read_text_file(certificate_file);
  const std::string key = read_text_file(key_from);

  ssl::context context(ssl::context::tls_server);
  context.set_options(ssl::context::default_workarounds | ssl::context::no_tlsv1 |
                      ssl::context::no_tlsv1_1);
  SSL_CTX_set_mode(context.native_handle(), SSL_MODE_RELEASE_BUFFERS);
  boost::system::error_code error;
  context.use_certificate_chain(asio::buffer(certificates), error);
  if (error) {
    refuse_file(kCertificateFlag, certificate_file,
                "expected a certificate in PEM form, its chain behind it: " + error.message());
  }
  // Otherwise OpenSSL would ask for the key's password at the terminal.
  bool is_locked = false;
  const auto no_password = [&is_locked](std::size_t, ssl::context::password_purpose) {
    is_locked = true;
    return std::string();
  };
  context.set_password_callback(no_password, error);
  context.use_private_key(asio::buffer(key), ssl::context::pem, error);
  if (is_locked) {
    refuse_file(key_flag, key_from, "the key has a password; expected one without (openssl pkey)");
  }
  if (error) {
    refuse_file(key_flag, key_from,
                "expected the certificate's key in PEM form: " + error.message());
  }
  context.set_password_callback(
      [](std::size_t, ssl::context::password_purpose) { return std::string(); }, error);
  return context;
}

}  // namespace headroom
