! SPDX-License-Identifier: Apache-2.0
! Halocline for Fortran: solving stencil problems, with the program's own arrays as fields if it
! likes; and checkpoints of any program with a grid. Fortran 2008, over the C interface of <halocline/solver.h>, which has more details.
module halocline_solver
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: real64, int64
  use halocline
  implicit none
  private

  public :: halocline_array, halocline_parameter, halocline_result, halocline_solve
  public :: halocline_write_checkpoint, halocline_read_checkpoint

  integer, parameter :: name_length = 80

  ! A parameter of a problem: halocline_parameter('dt', 0.1_real64).
  type :: halocline_parameter
    character(name_length) :: name = ''
    real(real64) :: value = 0
  end type

  ! A wrapped array of the program for a field or a coefficient of the problem: halocline_array(name,
  ! field [, use]). use is 'start', if it has the start values, 'result', if it gets the result, or
  ! 'both' (default); coefficients are only read. The field has one component, real32 or real64 as
  ! the precision of the run.
  type :: halocline_array
    private
    character(name_length) :: name = ''
    type(c_ptr) :: field = c_null_ptr
    character(8) :: use = 'both'
  end type
  interface halocline_array
    procedure array_of
  end interface

  type :: halocline_result
    integer(int64) :: sweeps = 0         ! done
    logical :: converged = .false.       ! the norm met the tolerance
    logical :: diverged = .false.        ! the norm, or a value of the result, is not finite
    real(real64) :: norm = 0             ! the last one; NaN without any
    integer(int64) :: checksum = 0       ! of the problem's first field: the bits of 64
    real(real64) :: sum = 0              ! of that field
    real(real64) :: setup_seconds = 0, compile_seconds = 0  ! the first includes the second
    real(real64) :: first_sweep_seconds = 0, loop_seconds = 0
    real(real64) :: glups = 0            ! thousand million updates a second, of all ranks
  end type

  ! The structs of solver.h.

  type, bind(c) :: c_array
    type(c_ptr) :: name = c_null_ptr, field = c_null_ptr, use = c_null_ptr
  end type

  type, bind(c) :: c_parameter
    type(c_ptr) :: name = c_null_ptr
    real(c_double) :: value = 0
  end type

  type, bind(c) :: c_options
    integer(c_size_t) :: struct_size = 0
    type(c_ptr) :: problem = c_null_ptr, text = c_null_ptr
    type(c_ptr) :: arrays = c_null_ptr
    integer(c_int) :: array_count = 0
    type(c_ptr) :: parameters = c_null_ptr
    integer(c_int) :: parameter_count = 0
    integer(c_int64_t) :: sweeps = -1
    real(c_double) :: tolerance = -1
    type(c_ptr) :: norm = c_null_ptr
    integer(c_int64_t) :: norm_every = 1
    type(c_ptr) :: precision = c_null_ptr
    integer(c_int64_t) :: seed = -1
    type(c_ptr) :: backend = c_null_ptr, memory = c_null_ptr
    type(c_ptr) :: transport = c_null_ptr, proofs = c_null_ptr
    type(c_ptr) :: schedule = c_null_ptr, graph = c_null_ptr
    integer(c_int64_t) :: halo_depth = 1
    integer(c_int) :: threads = 0
    real(c_double) :: tuning_seconds = -1
    type(c_ptr) :: tuning_file = c_null_ptr
    type(c_ptr) :: report = c_null_ptr, json = c_null_ptr
    type(c_ptr) :: layout = c_null_ptr
  end type

  type, bind(c) :: c_result
    integer(c_size_t) :: struct_size = 0
    integer(c_int64_t) :: sweeps = 0
    integer(c_int) :: converged = 0, diverged = 0
    real(c_double) :: norm = 0
    integer(c_int64_t) :: checksum = 0
    real(c_double) :: sum = 0
    real(c_double) :: setup_seconds = 0, compile_seconds = 0
    real(c_double) :: first_sweep_seconds = 0, loop_seconds = 0, glups = 0
  end type

  type, bind(c) :: c_named_field
    type(c_ptr) :: name = c_null_ptr, field = c_null_ptr
  end type

  type, bind(c) :: c_checkpoint_options
    integer(c_size_t) :: struct_size = 0
    type(c_ptr) :: text = c_null_ptr
    real(c_double) :: origin(3) = 0, spacing(3) = 1
  end type

  interface
    function c_write_checkpoint(grid, fields, field_count, path, options) &
      bind(c, name='halocline_write_checkpoint')
      import
      type(c_ptr), value :: grid, fields, path
      integer(c_int), value :: field_count
      type(c_checkpoint_options), intent(in) :: options
      integer(c_int) :: c_write_checkpoint
    end function
    function c_read_checkpoint(grid, fields, field_count, path, text) &
      bind(c, name='halocline_read_checkpoint')
      import
      type(c_ptr), value :: grid, fields, path
      integer(c_int), value :: field_count
      type(c_ptr), intent(inout) :: text
      integer(c_int) :: c_read_checkpoint
    end function
    pure function c_strlen(text) bind(c, name='strlen')
      import
      type(c_ptr), value :: text
      integer(c_size_t) :: c_strlen
    end function
    function c_solve(grid, options, result) bind(c, name='halocline_solve')
      import
      type(c_ptr), value :: grid
      type(c_options), intent(in) :: options
      type(c_result), intent(inout) :: result
      integer(c_int) :: c_solve
    end function
  end interface

  ! A text for C, at an address that stays as long as it is not assigned again.
  type :: c_text
    character(kind=c_char), pointer :: letters(:) => null()
  contains
    final :: free_text
  end type

contains

  function array_of(name, field, use) result(array)
    character(*), intent(in) :: name
    class(halocline_field), intent(in) :: field
    character(*), intent(in), optional :: use
    type(halocline_array) :: array
    array%name = name
    array%field = field%c_handle()
    if (present(use)) array%use = use
  end function

  impure elemental subroutine free_text(this)
    type(c_text), intent(inout) :: this
    if (associated(this%letters)) deallocate (this%letters)
  end subroutine

  ! The address of a text; null for one that is absent or `none`.
  type(c_ptr) function address_of(keeper, text, none)
    type(c_text), intent(inout) :: keeper
    character(*), intent(in), optional :: text, none
    address_of = c_null_ptr
    if (.not. present(text)) return
    if (present(none)) then
      if (text == none) return
    end if
    allocate (keeper%letters, source=halocline_for_c(text))
    address_of = c_loc(keeper%letters)
  end function

  ! Lines, without trailing blanks, with a newline after each.
  function joined(lines) result(text)
    character(*), intent(in) :: lines(:)
    character(:), allocatable :: text
    integer :: i, length
    length = 0
    do i = 1, size(lines)
      length = length + len_trim(lines(i)) + 1
    end do
    allocate (character(length) :: text)
    length = 0
    do i = 1, size(lines)
      text(length + 1:length + len_trim(lines(i)) + 1) = trim(lines(i))//new_line('a')
      length = length + len_trim(lines(i)) + 1
    end do
  end function

  ! Solves a problem on the cells and the process grid of a grid; the problem says which of its axes
  ! are periodic. `problem` is the name of a built-in one or the path of a file; instead, `text` has
  ! the lines of a problem file, the same on every rank, and `problem` is what errors call it. Every
  ! call begins at time 0, with start values of the problem or of arrays. Options that are absent are
  ! the problem's, or chosen, as by `halocline solve`; report and json are files, '-' for standard
  ! output. Collective. A result that is not finite is no error.
  subroutine halocline_solve(grid, problem, text, arrays, parameters, sweeps, tolerance, norm, &
                             norm_every, precision, seed, backend, memory, transport, proofs, &
                             schedule, graph, halo_depth, threads, tuning_seconds, tuning_file, &
                             report, json, layout, result, stat, errmsg)
    class(halocline_grid), intent(in) :: grid
    character(*), intent(in), optional :: problem
    character(*), intent(in), optional :: text(:)
    type(halocline_array), intent(in), optional :: arrays(:)
    type(halocline_parameter), intent(in), optional :: parameters(:)
    integer, intent(in), optional :: sweeps
    real(real64), intent(in), optional :: tolerance
    character(*), intent(in), optional :: norm       ! 'max', 'l2', 'none'
    integer, intent(in), optional :: norm_every
    character(*), intent(in), optional :: precision  ! 'f32', 'f64'
    integer, intent(in), optional :: seed
    character(*), intent(in), optional :: backend, memory, transport, proofs, schedule, graph
    integer, intent(in), optional :: halo_depth, threads
    real(real64), intent(in), optional :: tuning_seconds
    character(*), intent(in), optional :: tuning_file, report, json
    character(*), intent(in), optional :: layout     ! 'array', 'brick', 'brick:32x4x4', 'auto'
    type(halocline_result), intent(out), optional :: result
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_options) :: options
    type(c_result) :: outcome
    type(c_text), target :: texts(14)
    type(c_text), allocatable, target :: names(:, :)
    type(c_array), allocatable, target :: c_arrays(:)
    type(c_parameter), allocatable, target :: c_parameters(:)
    integer(c_int) :: status
    integer :: i, count

    count = 0
    if (present(arrays)) count = size(arrays)
    allocate (c_arrays(count))
    options%array_count = int(count, c_int)
    if (present(parameters)) count = max(count, size(parameters))
    allocate (names(count, 3))
    do i = 1, size(c_arrays)
      c_arrays(i)%name = address_of(names(i, 1), arrays(i)%name)
      c_arrays(i)%field = arrays(i)%field
      c_arrays(i)%use = address_of(names(i, 2), arrays(i)%use)
    end do
    if (size(c_arrays) > 0) options%arrays = c_loc(c_arrays)
    if (present(parameters)) then
      allocate (c_parameters(size(parameters)))
      do i = 1, size(parameters)
        c_parameters(i)%name = address_of(names(i, 3), parameters(i)%name)
        c_parameters(i)%value = parameters(i)%value
      end do
      options%parameter_count = int(size(parameters), c_int)
      if (size(parameters) > 0) options%parameters = c_loc(c_parameters)
    end if

    options%struct_size = c_sizeof(options)
    options%problem = address_of(texts(1), problem)
    if (present(text)) options%text = address_of(texts(2), joined(text))
    if (present(sweeps)) options%sweeps = sweeps
    if (present(tolerance)) options%tolerance = tolerance
    options%norm = address_of(texts(3), norm)
    if (present(norm_every)) options%norm_every = norm_every
    options%precision = address_of(texts(4), precision)
    if (present(seed)) options%seed = seed
    options%backend = address_of(texts(5), or_auto(backend))
    options%memory = address_of(texts(6), or_auto(memory))
    options%transport = address_of(texts(7), or_auto(transport))
    options%proofs = address_of(texts(8), proofs)
    options%schedule = address_of(texts(9), or_auto(schedule))
    options%graph = address_of(texts(10), or_auto(graph))
    if (present(halo_depth)) options%halo_depth = halo_depth
    if (present(threads)) options%threads = int(threads, c_int)
    if (present(tuning_seconds)) options%tuning_seconds = tuning_seconds
    options%tuning_file = address_of(texts(11), tuning_file)
    options%report = address_of(texts(12), report, none='')
    options%json = address_of(texts(13), json, none='')
    options%layout = address_of(texts(14), layout)

    outcome%struct_size = c_sizeof(outcome)
    status = c_solve(grid%c_handle(), options, outcome)
    if (present(result)) &
      result = halocline_result(outcome%sweeps, outcome%converged /= 0, outcome%diverged /= 0, &
                                outcome%norm, outcome%checksum, outcome%sum, &
                                outcome%setup_seconds, outcome%compile_seconds, &
                                outcome%first_sweep_seconds, outcome%loop_seconds, outcome%glups)
    call halocline_return_status(status, stat, errmsg)
  end subroutine

  ! Writes the owned cells of fields, all real32 or all real64, to one file: the same for every
  ! split, read by any number of ranks. It appears, or replaces an old one, once all of it is on the
  ! disk; until then, and after an error, the old one remains. Viewers open it as VTKHDF if its name
  ! ends in .vtkhdf and HDF5 was found; origin is where they place the lower corner of the first
  ! cell, and spacing the size of a cell. `text` is for the program: its step, its time; that of
  ! rank 0 counts. Collective, with the same names on all ranks.
  subroutine halocline_write_checkpoint(grid, fields, path, text, origin, spacing, stat, errmsg)
    class(halocline_grid), intent(in) :: grid
    type(halocline_array), intent(in) :: fields(:)
    character(*), intent(in) :: path
    character(*), intent(in), optional :: text
    real(real64), intent(in), optional :: origin(:), spacing(:)  ! of the grid's axes
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_checkpoint_options) :: options
    type(c_text), target :: texts(2), names(size(fields))
    type(c_named_field), target :: c_fields(size(fields))
    integer(c_int) :: status
    call name_fields(fields, names, c_fields)
    options%struct_size = c_sizeof(options)
    options%text = address_of(texts(1), text)
    if (present(origin)) options%origin(:min(3, size(origin))) = origin(:min(3, size(origin)))
    if (present(spacing)) options%spacing(:min(3, size(spacing))) = spacing(:min(3, size(spacing)))
    status = c_write_checkpoint(grid%c_handle(), c_loc(c_fields), int(size(fields), c_int), &
                                address_of(texts(2), path), options)
    call halocline_return_status(status, stat, errmsg)
  end subroutine

  ! Reads fields of such a file, those named, into their owned cells; halos stay. All that is read
  ! is checked by hashes in the file. Reads checkpoints of `halocline solve`, too; their text is
  ! empty. Collective. After an error fields may have new values in part.
  subroutine halocline_read_checkpoint(grid, fields, path, text, stat, errmsg)
    class(halocline_grid), intent(in) :: grid
    type(halocline_array), intent(in) :: fields(:)
    character(*), intent(in) :: path
    character(:), allocatable, intent(out), optional :: text
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_text), target :: texts(1), names(size(fields))
    type(c_named_field), target :: c_fields(size(fields))
    type(c_ptr) :: found
    character(kind=c_char), pointer :: letters(:)
    integer(c_int) :: status
    integer :: i
    call name_fields(fields, names, c_fields)
    found = c_null_ptr
    status = c_read_checkpoint(grid%c_handle(), c_loc(c_fields), int(size(fields), c_int), &
                               address_of(texts(1), path), found)
    if (present(text)) then
      text = ''
      if (c_associated(found)) then
        call c_f_pointer(found, letters, [c_strlen(found)])
        text = repeat(' ', size(letters))
        do i = 1, size(letters)
          text(i:i) = letters(i)
        end do
      end if
    end if
    call halocline_return_status(status, stat, errmsg)
  end subroutine

  subroutine name_fields(fields, names, c_fields)
    type(halocline_array), intent(in) :: fields(:)
    type(c_text), intent(inout), target :: names(:)
    type(c_named_field), intent(out) :: c_fields(:)
    integer :: i
    do i = 1, size(fields)
      c_fields(i)%name = address_of(names(i), fields(i)%name)
      c_fields(i)%field = fields(i)%field
    end do
  end subroutine

  function or_auto(word) result(text)
    character(*), intent(in), optional :: word
    character(:), allocatable :: text
    text = 'auto'
    if (present(word)) text = word
  end function

end module halocline_solver
