#include "src/python/network_address.h"

#include <gtest/gtest.h>

namespace preflight::python {
namespace {

TEST(NetworkAddress, IsReadAsSglangReadsIt) {
  struct Row {
    const char* text;
    const char* host;
    int port;
  };
  for (const Row& row : {Row{"10.0.0.1:5000", "10.0.0.1", 5000}, Row{"node0:0", "node0", 0}, Row{"a:65535", "a", 65535},
                         Row{"[::1]:8000", "::1", 8000}, Row{"[fe80::1%eth0]:1", "fe80::1%eth0", 1},
                         Row{"http://h:1", "http://h", 1}, Row{"h: 7 ", "h", 7}}) {
    const auto address = network_address(row.text);
    ASSERT_TRUE(address) << row.text;
    EXPECT_EQ(address->host, row.host) << row.text;
    EXPECT_EQ(address->port, row.port) << row.text;
  }
  for (const char* text : {"", "10.0.0.1", ":5000", "h:", "h:abc", "h:65536", "h:-1", "::1:5000", "[::1]",
                           "[::1]:", "[h]:5000", "[::1:5000", "host:5000/x"}) {
    EXPECT_FALSE(network_address(text)) << text;
  }
}

}  // namespace
}  // namespace preflight::python
