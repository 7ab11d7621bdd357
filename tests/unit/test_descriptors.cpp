// SPDX-License-Identifier: Apache-2.0
// File descriptors that one process hands to another, and processes that do not.

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <halocline/error.hpp>

#include "device/descriptors.hpp"
#include "support/caught.hpp"

namespace halocline::test {
namespace {

using device::DescriptorName;
using device::fetch_descriptor;
using device::OfferedDescriptor;
using std::chrono::duration;

constexpr duration<double> patience{10};

/// A file in memory that begins with these words.
int file_with(const std::string& words) {
  const int file = memfd_create("test_descriptors", MFD_CLOEXEC);
  EXPECT_EQ(write(file, words.data(), words.size()), static_cast<ssize_t>(words.size()));
  return file;
}

std::string words_of(int file) {
  std::string words(32, '\0');
  words.resize(static_cast<std::size_t>(std::max<ssize_t>(pread(file, words.data(), 32, 0), 0)));
  return words;
}

std::string fetched_words(const DescriptorName& name) {
  const int file = fetch_descriptor(name, patience);
  EXPECT_NE(fcntl(file, F_GETFD) & FD_CLOEXEC, 0);
  std::string words = words_of(file);
  close(file);
  return words;
}

/// Another process, which offers a file and then sleeps; ended with the test.
class Offering {
 public:
  Offering() {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    id_ = fork();
    if (id_ == 0) {
      const OfferedDescriptor offer(file_with("from the other"));
      const bool told = write(ends[1], &offer.name(), sizeof(DescriptorName)) > 0;
      if (told)
        for (;;) pause();
      _exit(0);
    }
    EXPECT_EQ(read(ends[0], &name_, sizeof(name_)), static_cast<ssize_t>(sizeof(name_)));
    close(ends[0]);
    close(ends[1]);
  }
  ~Offering() { end(); }
  Offering(const Offering&) = delete;
  Offering& operator=(const Offering&) = delete;

  const DescriptorName& name() const { return name_; }
  void stop() const {
    kill(id_, SIGSTOP);
    waitpid(id_, nullptr, WUNTRACED);
  }
  void end() {
    if (id_ <= 0) return;
    kill(id_, SIGKILL);
    waitpid(id_, nullptr, 0);
    id_ = -1;
  }

 private:
  pid_t id_ = -1;
  DescriptorName name_{};
};

TEST(Descriptors, ComeFromAnotherProcess) {
  const Offering other;
  for (int time = 0; time < 3; ++time) EXPECT_EQ(fetched_words(other.name()), "from the other");
}

TEST(Descriptors, AreToldApart) {
  std::vector<std::unique_ptr<OfferedDescriptor>> offers;
  for (const char* words : {"one", "two", "three"})
    offers.push_back(std::make_unique<OfferedDescriptor>(file_with(words)));
  EXPECT_EQ(fetched_words(offers[2]->name()), "three");
  EXPECT_EQ(fetched_words(offers[0]->name()), "one");
  const DescriptorName withdrawn = offers[1]->name();
  offers.erase(offers.begin() + 1);
  EXPECT_THAT(caught([&] { fetch_descriptor(withdrawn, patience); }),
              says(ErrorKind::device, "did not send its file descriptor"));
  EXPECT_EQ(fetched_words(offers[1]->name()), "three");
}

TEST(Descriptors, AreGivenToManyAtOnce) {
  const OfferedDescriptor offer(file_with("for all"));
  std::vector<std::thread> askers;
  std::atomic<int> served{0};
  for (int asker = 0; asker < 8; ++asker)
    askers.emplace_back([&] {
      for (int time = 0; time < 20; ++time) served += fetched_words(offer.name()) == "for all";
    });
  for (std::thread& asker : askers) asker.join();
  EXPECT_EQ(served, 160);
}

TEST(Descriptors, AreClosedWithTheirOffers) {
  const int file = file_with("soon gone");
  DescriptorName name;
  { name = OfferedDescriptor(file).name(); }
  EXPECT_EQ(fcntl(file, F_GETFD), -1);
  EXPECT_THAT(caught([&] { fetch_descriptor(name, patience); }),
              says(ErrorKind::device, "is gone, or in another network namespace"));
}

TEST(Descriptors, OfAProcessThatEndedCannotBeHad) {
  Offering other;
  other.end();
  EXPECT_THAT(caught([&] { fetch_descriptor(other.name(), patience); }),
              says(ErrorKind::device, "is gone"));
}

TEST(Descriptors, OfAProcessThatIsStoppedAreWaitedForWithinTheLimit) {
  const Offering other;
  other.stop();
  EXPECT_THAT(caught([&] { fetch_descriptor(other.name(), duration<double>(0.2)); }),
              says(ErrorKind::device, "has not answered for 0.2 s"));
}

TEST(Descriptors, AreNotGivenToWhoDoesNotKnowTheKey) {
  const OfferedDescriptor offer(file_with("secret"));
  DescriptorName guess = offer.name();
  guess.key ^= 1;
  EXPECT_THAT(caught([&] { fetch_descriptor(guess, patience); }),
              says(ErrorKind::device, "did not send its file descriptor"));
}

}  // namespace
}  // namespace halocline::test
