// SHA-1 (FIPS 180-4) and RFC 4122 version 5. Tested by tests/resolve_validation_test.cpp.
#include "src/resolve/serving/uuid5.h"

#include <array>
#include <bit>
#include <cstdint>

#include <fmt/format.h>

namespace preflight::resolve {
namespace {

using Digest = std::array<std::uint32_t, 5>;

void add_block(Digest& digest, std::string_view block) {
  std::array<std::uint32_t, 80> w{};
  for (std::size_t i = 0; i < 16; ++i) {
    for (std::size_t j = 0; j < 4; ++j) w[i] = w[i] << 8 | static_cast<unsigned char>(block[4 * i + j]);
  }
  for (std::size_t i = 16; i < w.size(); ++i) w[i] = std::rotl(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
  auto [a, b, c, d, e] = digest;
  for (std::size_t i = 0; i < w.size(); ++i) {
    const std::uint32_t choice = (b & c) | (~b & d);
    const std::uint32_t parity = b ^ c ^ d;
    const std::uint32_t majority = (b & c) | (b & d) | (c & d);
    const std::uint32_t mixed = i < 20   ? choice + 0x5A827999U
                                : i < 40 ? parity + 0x6ED9EBA1U
                                : i < 60 ? majority + 0x8F1BBCDCU
                                         : parity + 0xCA62C1D6U;
    const std::uint32_t next = std::rotl(a, 5) + mixed + e + w[i];
    e = d;
    d = c;
    c = std::rotl(b, 30);
    b = a;
    a = next;
  }
  digest[0] += a;
  digest[1] += b;
  digest[2] += c;
  digest[3] += d;
  digest[4] += e;
}

Digest sha1(std::string text) {
  const std::uint64_t bits = std::uint64_t{text.size()} * 8;
  text += '\x80';
  while (text.size() % 64 != 56) text += '\0';
  for (int shift = 56; shift >= 0; shift -= 8) text += static_cast<char>(bits >> shift & 0xFFU);
  Digest digest = {0x67452301U, 0xEFCDAB89U, 0x98BADCFEU, 0x10325476U, 0xC3D2E1F0U};
  for (std::size_t at = 0; at < text.size(); at += 64) add_block(digest, std::string_view(text).substr(at, 64));
  return digest;
}

}  // namespace

std::string url_uuid5_hex(std::string_view name) {
  // RFC 4122's namespace for URLs, 6ba7b811-9dad-11d1-80b4-00c04fd430c8.
  static constexpr std::array<unsigned char, 16> kUrl = {0x6b, 0xa7, 0xb8, 0x11, 0x9d, 0xad, 0x11, 0xd1,
                                                         0x80, 0xb4, 0x00, 0xc0, 0x4f, 0xd4, 0x30, 0xc8};
  Digest digest = sha1(std::string(kUrl.begin(), kUrl.end()) + std::string(name));
  digest[1] = (digest[1] & 0xFFFF0FFFU) | 0x5000U;      // version 5
  digest[2] = (digest[2] & 0x3FFFFFFFU) | 0x80000000U;  // variant
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", digest[0], digest[1], digest[2], digest[3]);
}

}  // namespace preflight::resolve
