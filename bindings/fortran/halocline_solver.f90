! SPDX-License-Identifier: Apache-2.0
! Halocline for Fortran: solving stencil problems, with the program's own arrays as fields if it
! likes; and checkpoints of any program with a grid. Fortran 2008, over the C interface of <halocline/solver.h>, which has more details.
module halocline_solver
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: real64, int64
  use halocline
  implicit none
  private

  public :: halocline_array, halocline_parameter, halocline_option, halocline_result, halocline_solve
  public :: halocline_progress, halocline_see_progress, halocline_wish_to_stop
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

  ! An option of `halocline solve` by its name: halocline_option('sweeps', 100),
  ! halocline_option('transport', 'peer'), halocline_option('verify', .true.). docs/options.md lists
  ! the names; those with several values may be repeated.
  type :: halocline_option
    private
    character(:), allocatable :: name, value
  end type
  interface halocline_option
    procedure option_of_text, option_of_integer, option_of_int64, option_of_real, option_of_logical
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
    ! The report of `halocline solve` and its JSON, in which all else is; empty on ranks other than 0.
    character(:), allocatable :: report, json
  end type

  ! How far a run is.
  type :: halocline_progress
    integer(int64) :: sweep = 0, sweeps = 0       ! done, and in all
    integer(int64) :: first = 0                   ! sweeps that an earlier run had done
    real(real64) :: norm = 0                      ! the last one; NaN without any
    real(real64) :: seconds = 0, glups = 0
    integer(int64) :: saved = -1                  ! that the run's newest checkpoint has; -1 without any
  end type

  abstract interface
    ! Called on rank 0 during the sweeps, at most every 0.5 s, and at their end.
    subroutine halocline_see_progress(progress)
      import
      type(halocline_progress), intent(in) :: progress
    end subroutine
    ! Called on every rank between sweeps, at least twice a second if a sweep takes no longer; must be
    ! cheap. If it is true on any rank the run ends between two sweeps that all ranks agree on, after
    ! a checkpoint if there is a folder for it.
    logical function halocline_wish_to_stop()
    end function
  end interface

  type :: callbacks
    procedure(halocline_see_progress), pointer, nopass :: on_progress => null()
    procedure(halocline_wish_to_stop), pointer, nopass :: stop_request => null()
  end type
  character(kind=c_char), target :: stop_reason(12) = &
    ['t', 'h', 'e', ' ', 'p', 'r', 'o', 'g', 'r', 'a', 'm', c_null_char]

  ! The structs of solver.h.

  type, bind(c) :: c_array
    type(c_ptr) :: name = c_null_ptr, field = c_null_ptr, use = c_null_ptr
  end type

  type, bind(c) :: c_parameter
    type(c_ptr) :: name = c_null_ptr
    real(c_double) :: value = 0
  end type

  type, bind(c) :: c_option
    type(c_ptr) :: name = c_null_ptr, value = c_null_ptr
  end type

  type, bind(c) :: c_options
    integer(c_size_t) :: struct_size = 0
    type(c_ptr) :: problem = c_null_ptr, text = c_null_ptr
    type(c_ptr) :: arrays = c_null_ptr
    integer(c_int) :: array_count = 0
    type(c_ptr) :: parameters = c_null_ptr
    integer(c_int) :: parameter_count = 0
    type(c_ptr) :: options = c_null_ptr
    integer(c_int) :: option_count = 0
    type(c_ptr) :: report = c_null_ptr, json = c_null_ptr
    type(c_funptr) :: on_progress = c_null_funptr, stop_request = c_null_funptr
    type(c_ptr) :: user = c_null_ptr
  end type

  type, bind(c) :: c_progress
    integer(c_size_t) :: struct_size = 0
    integer(c_int64_t) :: sweep = 0, sweeps = 0, first = 0
    real(c_double) :: norm = 0, seconds = 0, glups = 0
    integer(c_int64_t) :: saved = 0
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
    type(c_ptr) :: report = c_null_ptr, json = c_null_ptr
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

  function option_of_text(name, value) result(option)
    character(*), intent(in) :: name, value
    type(halocline_option) :: option
    option%name = name
    option%value = value
  end function

  function option_of_integer(name, value) result(option)
    character(*), intent(in) :: name
    integer, intent(in) :: value
    type(halocline_option) :: option
    option = option_of_int64(name, int(value, int64))
  end function

  function option_of_int64(name, value) result(option)
    character(*), intent(in) :: name
    integer(int64), intent(in) :: value
    type(halocline_option) :: option
    character(20) :: digits
    write (digits, '(i0)') value
    option = option_of_text(name, trim(digits))
  end function

  function option_of_real(name, value) result(option)
    character(*), intent(in) :: name
    real(real64), intent(in) :: value
    type(halocline_option) :: option
    character(30) :: digits
    write (digits, '(es24.16e3)') value  ! enough for every bit
    option = option_of_text(name, trim(adjustl(digits)))
  end function

  function option_of_logical(name, value) result(option)
    character(*), intent(in) :: name
    logical, intent(in) :: value
    type(halocline_option) :: option
    option = option_of_text(name, merge('yes', 'no ', value))
    option%value = trim(option%value)
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

  ! The text at an address; empty for null.
  function text_at(address) result(text)
    type(c_ptr), intent(in) :: address
    character(:), allocatable :: text
    character(kind=c_char), pointer :: letters(:)
    integer :: i
    text = ''
    if (.not. c_associated(address)) return
    call c_f_pointer(address, letters, [c_strlen(address)])
    text = repeat(' ', size(letters))
    do i = 1, size(letters)
      text(i:i) = letters(i)
    end do
  end function

  ! The program's procedures as those of C, which get the callbacks.
  subroutine tell_progress(at, user) bind(c)
    type(c_progress), intent(in) :: at
    type(c_ptr), value :: user
    type(callbacks), pointer :: calls
    call c_f_pointer(user, calls)
    call calls%on_progress(halocline_progress(at%sweep, at%sweeps, at%first, at%norm, at%seconds, &
                                              at%glups, at%saved))
  end subroutine

  type(c_ptr) function ask_to_stop(user) bind(c)
    type(c_ptr), value :: user
    type(callbacks), pointer :: calls
    call c_f_pointer(user, calls)
    ask_to_stop = c_null_ptr
    if (calls%stop_request()) ask_to_stop = c_loc(stop_reason)
  end function

  ! Solves a problem on the cells and the process grid of a grid; the problem says which of its axes
  ! are periodic. `problem` is the name of a built-in one or the path of a file; instead, `text` has
  ! the lines of a problem file, the same on every rank, and `problem` is what errors call it. Every
  ! call begins at time 0, with start values of the problem or of arrays. Options that are absent are
  ! the problem's, or chosen, as by `halocline solve`; report and json are files, '-' for standard
  ! output. stop_request is for all ranks or for none. Collective. A result that is not finite is no
  ! error.
  subroutine halocline_solve(grid, problem, text, arrays, parameters, options, report, json, &
                             result, on_progress, stop_request, stat, errmsg)
    class(halocline_grid), intent(in) :: grid
    character(*), intent(in), optional :: problem
    character(*), intent(in), optional :: text(:)
    type(halocline_array), intent(in), optional :: arrays(:)
    type(halocline_parameter), intent(in), optional :: parameters(:)
    type(halocline_option), intent(in), optional :: options(:)
    character(*), intent(in), optional :: report, json
    type(halocline_result), intent(out), optional :: result
    procedure(halocline_see_progress), optional :: on_progress
    procedure(halocline_wish_to_stop), optional :: stop_request
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(callbacks), target :: calls
    type(c_options) :: asked
    type(c_result) :: outcome
    type(c_text), target :: texts(4)
    type(c_text), allocatable, target :: names(:, :)
    type(c_option), allocatable, target :: c_pairs(:)
    type(c_array), allocatable, target :: c_arrays(:)
    type(c_parameter), allocatable, target :: c_parameters(:)
    integer(c_int) :: status
    integer :: i, count

    count = 0
    if (present(arrays)) count = size(arrays)
    allocate (c_arrays(count))
    if (present(parameters)) count = max(count, size(parameters))
    if (present(options)) count = max(count, size(options))
    allocate (names(count, 5))
    do i = 1, size(c_arrays)
      c_arrays(i)%name = address_of(names(i, 1), arrays(i)%name)
      c_arrays(i)%field = arrays(i)%field
      c_arrays(i)%use = address_of(names(i, 2), arrays(i)%use)
    end do
    asked%array_count = int(size(c_arrays), c_int)
    if (size(c_arrays) > 0) asked%arrays = c_loc(c_arrays)
    if (present(parameters)) then
      allocate (c_parameters(size(parameters)))
      do i = 1, size(parameters)
        c_parameters(i)%name = address_of(names(i, 3), parameters(i)%name)
        c_parameters(i)%value = parameters(i)%value
      end do
      asked%parameter_count = int(size(parameters), c_int)
      if (size(parameters) > 0) asked%parameters = c_loc(c_parameters)
    end if
    if (present(options)) then
      allocate (c_pairs(size(options)))
      do i = 1, size(options)
        c_pairs(i)%name = address_of(names(i, 4), options(i)%name)
        c_pairs(i)%value = address_of(names(i, 5), options(i)%value)
      end do
      asked%option_count = int(size(options), c_int)
      if (size(options) > 0) asked%options = c_loc(c_pairs)
    end if

    asked%struct_size = c_sizeof(asked)
    asked%problem = address_of(texts(1), problem)
    if (present(text)) asked%text = address_of(texts(2), joined(text))
    asked%report = address_of(texts(3), report, none='')
    asked%json = address_of(texts(4), json, none='')
    if (present(on_progress)) then
      calls%on_progress => on_progress
      asked%on_progress = c_funloc(tell_progress)
    end if
    if (present(stop_request)) then
      calls%stop_request => stop_request
      asked%stop_request = c_funloc(ask_to_stop)
    end if
    asked%user = c_loc(calls)

    outcome%struct_size = c_sizeof(outcome)
    status = c_solve(grid%c_handle(), asked, outcome)
    if (present(result)) then
      result = halocline_result(outcome%sweeps, outcome%converged /= 0, outcome%diverged /= 0, &
                                outcome%norm, outcome%checksum, outcome%sum, &
                                outcome%setup_seconds, outcome%compile_seconds, &
                                outcome%first_sweep_seconds, outcome%loop_seconds, outcome%glups)
      result%report = text_at(outcome%report)
      result%json = text_at(outcome%json)
    end if
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
    integer(c_int) :: status
    call name_fields(fields, names, c_fields)
    found = c_null_ptr
    status = c_read_checkpoint(grid%c_handle(), c_loc(c_fields), int(size(fields), c_int), &
                               address_of(texts(1), path), found)
    if (present(text)) text = text_at(found)
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

end module halocline_solver
