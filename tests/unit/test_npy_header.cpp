// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <random>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <halocline/error.hpp>

#include "files/npy_header.hpp"
#include "support/caught.hpp"

namespace halocline {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

NpyHeader parse(const std::string& bytes) {
  return parse_npy_header(std::as_bytes(std::span(bytes.data(), bytes.size())), "a.npy");
}

/// Returns the message of the usage error that `action` throws.
template <class Action>
std::string refusal(const Action& action) {
  const test::Caught error = test::caught(action);
  EXPECT_EQ(error.kind, ErrorKind::usage);
  return error.text;
}

std::string refusal_of(const std::string& bytes) {
  return refusal([&] { parse(bytes); });
}

/// Frames a dictionary as a file of format `major`.0 would.
std::string framed(const std::string& dictionary, char major = 1) {
  const std::size_t length = dictionary.size();
  std::string bytes = std::string("\x93NUMPY", 6) + major + '\0';
  for (int i = 0; i < (major == 1 ? 2 : 4); ++i)
    bytes += static_cast<char>(length >> (8 * i) & 0xff);
  return bytes + dictionary;
}

std::string framed_type(const std::string& descr) {
  return framed("{'descr': '" + descr + "', 'fortran_order': False, 'shape': (3,), }\n");
}

TEST(NpyHeader, WritesWhatNumpyDocuments) {
  const std::string header = format_npy_header({{128, 256}, "<f8"});
  EXPECT_EQ(header.size() % 64, 0U);
  EXPECT_EQ(header.substr(0, 10), std::string("\x93NUMPY\x01\x00\x76\x00", 10));
  EXPECT_EQ(header.substr(10, 59), "{'descr': '<f8', 'fortran_order': False, 'shape': (128, 256");
  EXPECT_EQ(header.back(), '\n');
}

TEST(NpyHeader, ReadsWhatItWrites) {
  for (const std::vector<std::int64_t>& shape : std::vector<std::vector<std::int64_t>>{
           {}, {5}, {0}, {128, 256}, {7, 8, 9}, {1, 2, 3, 4}, {std::int64_t{1} << 40, 3}}) {
    for (const std::string descr : {"<f8", "<f4", "|u1"}) {
      const std::string bytes = format_npy_header({shape, descr});
      const NpyHeader header = parse(bytes);
      EXPECT_EQ(header.shape, shape);
      EXPECT_EQ(header.descr, descr);
      EXPECT_EQ(header.data_offset, bytes.size());
    }
  }
}

TEST(NpyHeader, ReadsAllVersions) {
  const std::string dictionary = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n";
  for (const char major : {'\1', '\2', '\3'}) {
    const std::string bytes = framed(dictionary, major);
    const NpyHeader header = parse(bytes);
    EXPECT_THAT(header.shape, ElementsAre(2, 3));
    EXPECT_EQ(header.kind, 'f');
    EXPECT_EQ(header.element_bytes, 4);
    EXPECT_EQ(header.data_offset, bytes.size());
  }
}

TEST(NpyHeader, ReadsOtherSpellings) {
  for (const char* dictionary :
       {"{\"shape\":(2,3),\"fortran_order\":False,\"descr\":\"<f8\"}",
        " {'fortran_order' : False , 'descr' : '<f8' , 'shape' : ( 2 , 3 , ) , } \n",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2L, 3L), }"})
    EXPECT_THAT(parse(framed(dictionary)).shape, ElementsAre(2, 3)) << dictionary;
}

TEST(NpyHeader, ReportsOtherTypesByTheirName) {
  const auto type_of = [](const char* descr) { return parse(framed_type(descr)); };
  EXPECT_EQ(type_of("<i8").kind, 'i');
  EXPECT_EQ(type_of("|b1").element_bytes, 1);
  EXPECT_EQ(type_of("<c16").element_bytes, 16);
  EXPECT_EQ(type_of("<U7").element_bytes, 28);
  EXPECT_EQ(type_of("<M8[ns]").element_bytes, 8);
}

TEST(NpyHeader, RefusesWhatItCannotUse) {
  EXPECT_THAT(refusal_of("PK\x03\x04 a zip file"), HasSubstr("'a.npy' is not a .npy file"));
  EXPECT_THAT(refusal_of(""), HasSubstr("is not a .npy file"));
  EXPECT_THAT(refusal_of(framed("{}", 4)), HasSubstr("format version 4.0"));
  EXPECT_EQ(refusal_of(framed_type(">f8")),
            "'a.npy' is big-endian '>f8'; convert with a.astype('<f8')");
  EXPECT_THAT(refusal_of(framed_type("|O")), HasSubstr("Python objects"));
  EXPECT_THAT(refusal_of(framed_type("|V16")), HasSubstr("records or raw bytes ('|V16')"));
  EXPECT_THAT(refusal_of(framed("{'descr': [('x', '<f8'), ('y', '<f8')], 'fortran_order': False, "
                                "'shape': (3,), }")),
              HasSubstr("holds records"));
  EXPECT_EQ(refusal_of(framed("{'descr': '<f8', 'fortran_order': True, 'shape': (3, 2), }")),
            "'a.npy' is in Fortran order; convert with numpy.ascontiguousarray(a)");
}

TEST(NpyHeader, RefusesMalformedHeaders) {
  for (const char* dictionary :
       {"",
        "{",
        "{}",
        "[]",
        "{'descr'",
        "{'descr': '<f8'}",
        "{'descr': <f8}",
        "{'descr': '<f8', 'fortran_order': 0, 'shape': (3,), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': 3, }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (3), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (-3,), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (3 4), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999,), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (3,), } and more",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (3,), 'colour': 'red', }",
        "{'descr': '<f8' 'fortran_order': False, 'shape': (3,), }",
        "{'descr': 'f8', 'fortran_order': False, 'shape': (3,), }",
        "{'descr': '<f', 'fortran_order': False, 'shape': (3,), }",
        "{'descr': '<f8x', 'fortran_order': False, 'shape': (3,), }",
        "{'descr': '', 'fortran_order': False, 'shape': (3,), }",
        "{'descr': '<f\\x38', 'fortran_order': False, 'shape': (3,), }"})
    EXPECT_THAT(refusal_of(framed(dictionary)), HasSubstr("'a.npy' has a malformed header"))
        << dictionary;
}

TEST(NpyHeader, RefusesALengthThatNoHeaderHas) {
  std::string bytes = framed("", 2);
  bytes.replace(8, 4, "\xff\xff\xff\xff");
  EXPECT_THAT(refusal_of(bytes), HasSubstr("4294967295 bytes long"));
}

TEST(NpyHeader, RefusesEveryPrefixOfAHeader) {
  const std::string bytes = format_npy_header({{128, 256}, "<f8"});
  for (std::size_t length = 0; length < bytes.size(); ++length)
    EXPECT_THAT(refusal_of(bytes.substr(0, length)), HasSubstr("'a.npy' is")) << length;
}

TEST(NpyHeader, SurvivesDamage) {
  const std::string good = format_npy_header({{128, 256}, "<f8"});
  std::mt19937 random(20240229);
  const auto any = [&](std::size_t below) { return random() % below; };
  for (int round = 0; round < 20000; ++round) {
    std::string bytes = good;
    for (std::size_t damages = 1 + any(4); damages > 0; --damages)
      bytes[any(bytes.size())] = static_cast<char>(any(256));
    try {
      const NpyHeader header = parse(bytes);
      EXPECT_GE(header.element_bytes, 0);
      // Whatever the header promises, the file ends with it: only an array of nothing is complete.
      require_complete(header, static_cast<std::int64_t>(bytes.size()), "a.npy");
      EXPECT_TRUE(header.element_bytes == 0 ||
                  std::count(header.shape.begin(), header.shape.end(), 0) > 0);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::usage);
    }
  }
}

TEST(NpyHeader, SurvivesNoise) {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    std::string dictionary(random() % 200, '\0');
    for (char& byte : dictionary) byte = static_cast<char>(random());
    refusal_of(framed(dictionary));
  }
}

const NpyNeeds needs{{128, 32}, "<f8", "--cells 32x128"};
constexpr std::int64_t data_bytes = 128 * 32 * 8;

TEST(NpyRequire, AcceptsWhatIsNeeded) {
  const std::string bytes = format_npy_header({{128, 32}, "<f8"});
  EXPECT_NO_THROW(
      require(parse(bytes), needs, static_cast<std::int64_t>(bytes.size()) + data_bytes, "a.npy"));
}

TEST(NpyRequire, NamesBothSides) {
  const auto refusal_for = [](const NpyArray& array, std::int64_t bytes_of_data) {
    const std::string bytes = format_npy_header(array);
    return refusal([&] {
      require(parse(bytes), needs, static_cast<std::int64_t>(bytes.size()) + bytes_of_data,
              "a.npy");
    });
  };
  EXPECT_EQ(refusal_for({{64, 32}, "<f8"}, data_bytes),
            "'a.npy' has shape (64, 32) but --cells 32x128 needs (128, 32)");
  EXPECT_EQ(refusal_for({{128, 32}, "<f4"}, data_bytes),
            "'a.npy' holds '<f4' but '<f8' is needed; convert with a.astype('<f8')");
  EXPECT_EQ(refusal_for({{128, 32}, "<f8"}, data_bytes - 1),
            "'a.npy' is truncated: 32768 bytes of data expected, 32767 present");
}

TEST(NpyRequire, RefusesSizesPastSixtyThreeBits) {
  const std::vector<std::int64_t> shape{std::int64_t{1} << 40, std::int64_t{1} << 40};
  const NpyHeader header = parse(format_npy_header({shape, "<f8"}));
  EXPECT_THAT(refusal([&] {
                require(header, {shape, "<f8", "--cells"}, 1000, "a.npy");
              }),
              HasSubstr("a.npy"));
}

TEST(NpyShape, IsWrittenAsInPython) {
  EXPECT_EQ(write_shape(std::vector<std::int64_t>{}), "()");
  EXPECT_EQ(write_shape(std::vector<std::int64_t>{5}), "(5,)");
  EXPECT_EQ(write_shape(std::vector<std::int64_t>{128, 32}), "(128, 32)");
}

}  // namespace
}  // namespace halocline
