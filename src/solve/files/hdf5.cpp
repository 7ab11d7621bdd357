// SPDX-License-Identifier: Apache-2.0
#include "files/hdf5.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <memory>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <sys/mman.h>

#include <halocline/error.hpp>

namespace halocline::files::hdf5 {
namespace {

using Size = std::uint64_t;

// Of H5Fpublic.h, H5Spublic.h, H5Dpublic.h: these numbers do not change between versions.
constexpr unsigned replace_file = 2;
constexpr int scalar = 0, contiguous = 1, early = 1, never = 1;
constexpr int earliest_format = 0, format_of_18 = 1;
constexpr Id by_default = 0, all_values = 0;

/// The functions in use, as the headers of HDF5 declare them from 1.10 on.
struct Library {
  explicit Library(void* handle) : symbols(handle) {}

  /// Converts to a pointer of any type.
  struct Found {
    Symbols& symbols;
    const char* name;
    template <class Any>
    operator Any*() const {  // NOLINT: the member's type decides
      Any* any = nullptr;
      symbols.find(name, any);
      return any;
    }
  };
  Found found(const char* name) { return {symbols, name}; }

  Symbols symbols;
  int (*open)() = found("H5open");
  int (*set_error_handler)(Id stack, void* function, void* data) = found("H5Eset_auto2");
  Id (*create_file)(const char*, unsigned flags, Id creation, Id access) = found("H5Fcreate");
  int (*close_file)(Id) = found("H5Fclose");
  Id (*create_group)(Id, const char*, Id link, Id creation, Id access) = found("H5Gcreate2");
  int (*close_group)(Id) = found("H5Gclose");
  Id (*create_space)(int kind) = found("H5Screate");
  Id (*create_simple_space)(int axes, const Size* shape,
                            const Size* most) = found("H5Screate_simple");
  int (*close_space)(Id) = found("H5Sclose");
  Id (*create_properties)(Id of) = found("H5Pcreate");
  int (*set_layout)(Id, int) = found("H5Pset_layout");
  int (*set_allocation)(Id, int) = found("H5Pset_alloc_time");
  int (*set_fill)(Id, int) = found("H5Pset_fill_time");
  int (*keep_times)(Id, bool) = found("H5Pset_obj_track_times");
  int (*set_user_block)(Id, Size) = found("H5Pset_userblock");
  int (*access_by_stdio)(Id) = found("H5Pset_fapl_stdio");
  int (*set_formats)(Id, int oldest, int newest) = found("H5Pset_libver_bounds");
  int (*close_properties)(Id) = found("H5Pclose");
  Id (*create_dataset)(Id, const char*, Id type, Id space, Id link, Id creation,
                       Id access) = found("H5Dcreate2");
  int (*write_dataset)(Id, Id type, Id memory, Id file, Id transfer,
                       const void*) = found("H5Dwrite");
  Size (*offset_of_dataset)(Id) = found("H5Dget_offset");
  int (*close_dataset)(Id) = found("H5Dclose");
  Id (*create_attribute)(Id, const char*, Id type, Id space, Id creation,
                         Id access) = found("H5Acreate2");
  int (*write_attribute)(Id, Id type, const void*) = found("H5Awrite");
  int (*close_attribute)(Id) = found("H5Aclose");
  Id (*copy_type)(Id) = found("H5Tcopy");
  int (*set_type_size)(Id, std::size_t) = found("H5Tset_size");
  int (*close_type)(Id) = found("H5Tclose");
  // Values that H5open() sets.
  Id* f32 = found("H5T_IEEE_F32LE_g");
  Id* f64 = found("H5T_IEEE_F64LE_g");
  Id* i64 = found("H5T_STD_I64LE_g");
  Id* byte = found("H5T_STD_U8LE_g");
  Id* text_type = found("H5T_C_S1_g");
  Id* of_files = found("H5P_CLS_FILE_CREATE_ID_g");
  Id* of_access = found("H5P_CLS_FILE_ACCESS_ID_g");
  Id* of_datasets = found("H5P_CLS_DATASET_CREATE_ID_g");
};

std::string library_version(void* handle) {
  using GetVersion = int(unsigned*, unsigned*, unsigned*);
  auto* const get = reinterpret_cast<GetVersion*>(::dlsym(handle, "H5get_libversion"));
  unsigned major = 0, minor = 0, patch = 0;
  return get == nullptr || get(&major, &minor, &patch) < 0
             ? ""
             : fmt::format("{}.{}.{}", major, minor, patch);
}

// Debian's library without MPI comes first: one that is built for another MPI than ours would bring
// that into the process.
constexpr std::array<const char*, 8> names{
    "libhdf5_serial.so.320", "libhdf5_serial.so.310", "libhdf5_serial.so.103", "libhdf5.so.320",
    "libhdf5.so.310",        "libhdf5.so.200",        "libhdf5.so.103",        "libhdf5.so"};

/// Finds the functions, and starts HDF5 with them.
std::string problem_of(void* handle) {
  const Library library(handle);
  const std::string problem = library.symbols.problem();
  if (!problem.empty()) return problem;
  return library.open() < 0 ? "does not start" : "";
}

LibraryToFind library_named(const char* name) {
  return {"HDF5",          {name, "", ""}, "HALOCLINE_HDF5", "Debian: libhdf5-103-1; conda: hdf5",
          library_version, "1.10.0",       problem_of};
}

struct Loaded {
  std::optional<Library> library;
  std::string why_not;
};

Loaded load() {
  const auto [wanted, files] = find_library(current_variables());
  const LoadedLibrary opened = load_library(wanted, files);
  if (!opened.problem.empty()) return {std::nullopt, why_not(wanted, opened)};
  const Library library(opened.handle);
  // It would print the errors that are reported here.
  library.set_error_handler(by_default, nullptr, nullptr);
  return {library, ""};
}

const Loaded& loaded() {
  static const Loaded once = load();
  return once;
}

const Library& library() {
  if (!loaded().library) throw Error(ErrorKind::unavailable, loaded().why_not);
  return *loaded().library;
}

/// Throws unless HDF5 returned something that is not negative.
template <class Result>
Result checked(Result result, const std::string& what) {
  if (result >= 0) return result;
  const int error = errno;
  const std::string why =
      error == 0 ? "" : fmt::format(": {}", std::generic_category().message(error));
  throw Error(ErrorKind::resource, fmt::format("HDF5 could not {}{}", what, why));
}

Item space_of(std::span<const std::int64_t> shape) {
  std::vector<Size> sizes(shape.begin(), shape.end());
  return {checked(library().create_simple_space(static_cast<int>(sizes.size()), sizes.data(),
                                                sizes.data()),
                  "describe an array"),
          library().close_space};
}

Id id_of(Type type) {
  const Library& hdf5 = library();
  return type == Type::f32   ? *hdf5.f32
         : type == Type::f64 ? *hdf5.f64
         : type == Type::i64 ? *hdf5.i64
                             : *hdf5.byte;
}

void add_attribute(Id of, const std::string& name, Id type, const Item& space, const void* values) {
  const Library& hdf5 = library();
  const std::string what = fmt::format("make attribute '{}'", name);
  const Item attribute(
      checked(hdf5.create_attribute(of, name.c_str(), type, space.get(), by_default, by_default),
              what),
      hdf5.close_attribute);
  checked(hdf5.write_attribute(attribute.get(), type, values), what);
}

/// Makes a dataset whose place is known before its values. The same data makes the same file at any
/// time.
Item new_dataset(Id group, const std::string& name, Type type,
                 std::span<const std::int64_t> shape) {
  const Library& hdf5 = library();
  const std::string what = fmt::format("make dataset '{}'", name);
  const Item creation(checked(hdf5.create_properties(*hdf5.of_datasets), what),
                      hdf5.close_properties);
  checked(hdf5.set_layout(creation.get(), contiguous), what);
  checked(hdf5.set_allocation(creation.get(), early), what);
  checked(hdf5.set_fill(creation.get(), never), what);
  checked(hdf5.keep_times(creation.get(), false), what);
  return {checked(hdf5.create_dataset(group, name.c_str(), id_of(type), space_of(shape).get(),
                                      by_default, creation.get(), by_default),
                  what),
          hdf5.close_dataset};
}

/// A file in memory, without a name.
Descriptor new_memory() {
  Descriptor memory(::memfd_create("halocline", MFD_CLOEXEC));
  checked(memory.get(), "be given memory for a file");
  return memory;
}

std::shared_ptr<Item> new_file(const Descriptor& memory, std::int64_t user_bytes) {
  const Library& hdf5 = library();
  errno = 0;
  const Item creation(checked(hdf5.create_properties(*hdf5.of_files), "begin a file"),
                      hdf5.close_properties);
  checked(hdf5.set_user_block(creation.get(), static_cast<Size>(user_bytes)), "begin a file");
  // By default HDF5 would look for the file at the end of this link.
  const Item access(checked(hdf5.create_properties(*hdf5.of_access), "begin a file"),
                    hdf5.close_properties);
  checked(hdf5.access_by_stdio(access.get()), "begin a file");
  // Every reader knows the earliest format, and numbers in it may be replaced in place. HDF5 2.0
  // has that of 1.8 by default, whose headers bear checksums.
  checked(hdf5.set_formats(access.get(), earliest_format, format_of_18), "begin a file");
  const std::string path = fmt::format("/proc/self/fd/{}", memory.get());
  return std::make_shared<Item>(
      checked(hdf5.create_file(path.c_str(), replace_file, creation.get(), access.get()),
              "begin a file"),
      hdf5.close_file);
}

FilePiece piece_of(const Descriptor& memory, std::int64_t begin, std::int64_t end) {
  FilePiece piece{begin, std::string(static_cast<std::size_t>(end - begin), '\0')};
  const ssize_t got = ::pread(memory.get(), piece.bytes.data(), piece.bytes.size(), begin);
  if (got != std::ssize(piece.bytes)) checked(-1, "give back the file's structure");
  return piece;
}

}  // namespace

Item::~Item() {
  if (id_ >= 0) close_(id_);
}

int Item::close() { return close_(std::exchange(id_, -1)); }

std::optional<std::string> unavailable() {
  if (loaded().library) return std::nullopt;
  return loaded().why_not;
}

LibraryFiles find_library(const Variables& variables) {
  for (const char* name : names) {
    const LibraryToFind wanted = library_named(name);
    std::vector<FoundLibrary> files = files_to_load(wanted, variables);
    if (!files.empty()) return {wanted, std::move(files)};
  }
  return {library_named("libhdf5.so"), {}};
}

Group Group::make_group(const std::string& name) const {
  const Library& hdf5 = library();
  return Group(std::make_shared<Item>(
      checked(hdf5.create_group(item_->get(), name.c_str(), by_default, by_default, by_default),
              fmt::format("make group '{}'", name)),
      hdf5.close_group));
}

void Group::add_text(const std::string& attribute, std::string_view text) const {
  const Library& hdf5 = library();
  const Item type(checked(hdf5.copy_type(*hdf5.text_type), "describe a text"), hdf5.close_type);
  checked(hdf5.set_type_size(type.get(), std::max<std::size_t>(1, text.size())), "describe a text");
  const Item space(checked(hdf5.create_space(scalar), "describe a text"), hdf5.close_space);
  const std::string value(text);
  add_attribute(item_->get(), attribute, type.get(), space, value.c_str());
}

void Group::add_numbers(const std::string& attribute, std::span<const std::int64_t> numbers) const {
  const std::array shape{static_cast<std::int64_t>(numbers.size())};
  add_attribute(item_->get(), attribute, id_of(Type::i64), space_of(shape), numbers.data());
}

void Group::add_numbers(const std::string& attribute, std::span<const double> numbers) const {
  const std::array shape{static_cast<std::int64_t>(numbers.size())};
  add_attribute(item_->get(), attribute, id_of(Type::f64), space_of(shape), numbers.data());
}

void Group::add_number(const std::string& attribute, std::int64_t number) const {
  const Library& hdf5 = library();
  const Item space(checked(hdf5.create_space(scalar), "describe a number"), hdf5.close_space);
  add_attribute(item_->get(), attribute, id_of(Type::i64), space, &number);
}

std::int64_t Group::add_dataset(const std::string& name, Type type,
                                std::span<const std::int64_t> shape) const {
  const Item dataset = new_dataset(item_->get(), name, type, shape);
  return checked(static_cast<std::int64_t>(library().offset_of_dataset(dataset.get())),
                 fmt::format("place dataset '{}'", name));
}

std::int64_t Group::add_dataset(const std::string& name,
                                std::span<const std::int64_t> values) const {
  const Library& hdf5 = library();
  const std::array shape{static_cast<std::int64_t>(values.size())};
  const Item dataset = new_dataset(item_->get(), name, Type::i64, shape);
  const std::string what = fmt::format("place dataset '{}'", name);
  checked(hdf5.write_dataset(dataset.get(), id_of(Type::i64), all_values, all_values, by_default,
                             values.data()),
          what);
  return checked(static_cast<std::int64_t>(hdf5.offset_of_dataset(dataset.get())), what);
}

Structure::Structure(std::int64_t user_bytes)
    : memory_(new_memory()), root_(new_file(memory_, user_bytes)) {}

/// Bytes that were not written are holes, however long the arrays are.
std::vector<FilePiece> Structure::pieces() {
  checked(root_.item_->close(), "end the file's structure");
  const off_t length = ::lseek(memory_.get(), 0, SEEK_END);
  std::vector<FilePiece> pieces;
  off_t end = 0;
  for (;;) {
    const off_t begin = ::lseek(memory_.get(), end, SEEK_DATA);
    if (begin < 0) break;
    end = ::lseek(memory_.get(), begin, SEEK_HOLE);
    pieces.push_back(piece_of(memory_, begin, end));
  }
  if (end < length) pieces.push_back(piece_of(memory_, length - 1, length));
  return pieces;
}

}  // namespace halocline::files::hdf5
