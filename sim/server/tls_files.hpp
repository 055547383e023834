#pragma once
// A server's certificate and key for TLS, read from PEM files.

#include <boost/asio/ssl/context.hpp>
#include <string>

namespace headroom {

// TLS 1.2 or later. `key_file` empty: the key is in `certificate_file`. ConfigError: a file cannot
// be read or is not what it should be, the key is encrypted, or it is another certificate's.
[[nodiscard]] boost::asio::ssl::context server_tls(const std::string& certificate_file,
                                                   const std::string& key_file);

}  // namespace headroom
