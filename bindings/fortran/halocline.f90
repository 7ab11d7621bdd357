! SPDX-License-Identifier: Apache-2.0
! Halocline for Fortran: halo exchange between the ranks of a structured-grid code. Fortran 2008,
! over the C interface of <halocline/halocline.h>, which has more details on each call.
!
! Cells have global coordinates from 1 up; a box includes its lower and its upper cell. Calls that
! can fail have the last arguments stat and errmsg: without stat an error prints its text and stops
! the program. Objects are destroyed when they go out of scope or by destroy(), in any order, the
! same on all ranks, but before MPI is finalised; those of the main program only by destroy(). They
! must not be copied. All ranks of the grid must make the collective calls, in the same order.
module halocline
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: error_unit, real32, real64, int32, int64
  implicit none
  private

  public :: halocline_grid, halocline_field, halocline_exchange, halocline_box, halocline_gpu
  public :: halocline_widths
  public :: halocline_bind_device, halocline_norm, halocline_report, halocline_version
  public :: halocline_return_status, halocline_for_c

  ! Values of stat.
  integer, parameter, public :: HALOCLINE_OK = 0             ! no error
  integer, parameter, public :: HALOCLINE_USAGE = 1          ! the request is invalid
  integer, parameter, public :: HALOCLINE_UNAVAILABLE = 2    ! valid, but not available here
  integer, parameter, public :: HALOCLINE_RESOURCE = 3       ! memory, disk or files ran out
  integer, parameter, public :: HALOCLINE_COMMUNICATION = 4  ! MPI failed, or a peer did not answer
  integer, parameter, public :: HALOCLINE_DEVICE = 5         ! a GPU or its driver failed
  integer, parameter, public :: HALOCLINE_INTERNAL = 6       ! a bug in Halocline

  ! A null stream is the host's, never CUDA's default stream, in C++, C and Fortran alike. CUDA's
  ! default stream is cudaStreamLegacy or cudaStreamPerThread.
  type(c_ptr), parameter, public :: HALOCLINE_HOST_STREAM = c_null_ptr

  ! The cells from lower to upper, both included; empty if a lower one is above its upper one.
  type :: halocline_box
    integer(int64) :: lower(3) = 1, upper(3) = 0
  end type

  ! Widths in cells on the lower and the upper side along x, y, z, if they differ between sides:
  ! halocline_widths(lower=[1, 2, 0], upper=[1, 0, 0]).
  type :: halocline_widths
    integer :: lower(3) = 0, upper(3) = 0
  end type

  ! The GPU of a rank: its number for CUDA, OpenACC and OpenMP among the GPUs that the process sees.
  type :: halocline_gpu
    integer :: ordinal = -1
    integer :: ranks_on_gpu = 0
    character(96) :: name = ''
    character(48) :: uuid = ''
  end type

  ! The type of that name in mpi_f08: types with bind(c), of equal names and components, are the
  ! same (Fortran 2008, 4.5.2.4). So this module needs no module of an MPI.
  type, bind(c) :: MPI_Comm
    integer(c_int) :: MPI_VAL
  end type

  ! A global box of cells split over the ranks of a communicator.
  type :: halocline_grid
    private
    type(c_ptr) :: handle = c_null_ptr
  contains
    ! create(communicator, cells [, periodic, process_grid, expected_halo, wait_limit,
    ! expected_sides]). The communicator is one of module mpi or of mpi_f08. It is duplicated.
    ! periodic and process_grid have a value for each axis, as cells has. Without process_grid the grid chooses the split with the least halo
    ! traffic for halos of expected_halo cells (default 1), or as wide as expected_sides sets for
    ! each side; fields and sweeps have this width where they are given none. Collective.
    generic :: create => grid_create_int32, grid_create_int64, grid_create_f08_int32, &
                         grid_create_f08_int64
    procedure :: rank => grid_rank
    procedure :: ranks => grid_ranks
    ! The number of ranks along x, y, z.
    procedure :: process_grid => grid_process_grid
    ! The cells this rank updates.
    procedure :: owned => grid_owned
    ! interior([reach, sides]) gives the owned cells that can be updated before the halo arrives,
    ! for sweeps that read `reach` cells far (default: the grid's expected halo), or as far as
    ! `sides` sets for each side; boundary([reach, sides]) gives the others, as disjoint boxes.
    procedure :: interior => grid_interior
    procedure :: boundary => grid_boundary
    ! The rank in a direction, each component -1, 0 or 1; -1 at the edge of the domain.
    procedure :: neighbour => grid_neighbour
    procedure :: destroy => grid_destroy
    ! The handle of the C interface. The object still owns it.
    procedure :: c_handle => grid_handle
    procedure, private :: grid_create_int32, grid_create_int64
    procedure, private :: grid_create_f08_int32, grid_create_f08_int64
    procedure, private :: copy_grid
    generic :: assignment(=) => copy_grid
    final :: finalize_grid
  end type

  ! Values on a rank's cells and on the halo around them.
  type :: halocline_field
    private
    type(c_ptr) :: handle = c_null_ptr
  contains
    ! wrap(grid, array [, halo, name, sides, component_axis]) wraps an existing real array on the
    ! host: owned cells and halo, with any lower bounds and strides, and one axis for each axis of
    ! the grid. With several components it has one axis more, component_axis: u(5, nx, ny) with
    ! component_axis=1, u(nx, ny, 5) with component_axis=3. The array must be a target and outlive
    ! the field. The halo is `halo` cells wide on all sides, or as wide as `sides` sets for each
    ! side; without both it is the grid's expected halo, and the array has to be as large as that
    ! says. wrap(grid, address, element_bytes [, halo, components, memory,
    ! extents, strides, component_stride, name, sides]) wraps memory by the address (c_loc) of its
    ! first cell, halo included; with memory='device' inside host_data use_device or use_device_ptr.
    generic :: wrap => wrap_address, wrap_real32_1, wrap_real32_2, wrap_real32_3, wrap_real32_4, &
                       wrap_real64_1, wrap_real64_2, wrap_real64_3, wrap_real64_4
    ! create(grid, element_bytes [, halo, components, memory, name, sides]) allocates one, all bytes
    ! zero.
    procedure :: create => field_create
    ! The address of the first cell, halo included: for c_f_pointer. Rows of a created field are
    ! padded: strides() are in elements.
    procedure :: address => field_address
    procedure :: strides => field_strides
    ! Fills the owned cells with the noise that `halocline solve laplace` starts from. Collective.
    procedure :: noise => field_noise
    ! The checksum of all ranks as `halocline solve` prints it, bits in an integer; and their sum.
    ! Collective.
    procedure :: checksum => field_checksum
    procedure :: sum => field_sum
    procedure :: destroy => field_destroy
    procedure :: c_handle => field_handle
    procedure, private :: wrap_address
    procedure, private :: wrap_real32_1, wrap_real32_2, wrap_real32_3, wrap_real32_4
    procedure, private :: wrap_real64_1, wrap_real64_2, wrap_real64_3, wrap_real64_4
    procedure, private :: copy_field
    generic :: assignment(=) => copy_field
    final :: finalize_field
  end type

  ! A plan to fill the halos of some fields, made once and run many times. An exchange writes the
  ! halo cells that lie in the domain or, along periodic axes, in the domain once wrapped around.
  ! Halo cells beyond an edge of the domain along an axis that is not periodic keep their values,
  ! which the program sets; also those in the corner between such an edge and a neighbour's side.
  ! With neighbours='faces' so do all cells that lie outside the owned box along more than one axis.
  type :: halocline_exchange
    private
    type(c_ptr) :: handle = c_null_ptr
  contains
    ! create(grid, field or fields [, neighbours, widths, transport, proofs, sides, same_order]):
    ! pass several fields as an array variable. An exchange fills `widths` cells on all sides, or
    ! those that `sides` sets for each side; without both, each field's own halo. same_order
    ! promises that every rank starts all exchanges of the communicator in the same order, as a loop
    ! over time steps does: then transport 'auto' may use nccl, which matches messages by their
    ! order. With another order halos would be wrong, or a wait would never end. Collective.
    generic :: create => exchange_create_one, exchange_create_all
    ! Between start and finish the owned cells within a halo's width of the boundary may be read but
    ! not written, and the halo must be neither read nor written. With a stream (a cudaStream_t,
    ! acc_get_cuda_stream(queue)) both are ordered with the stream's own work. Without one, or with
    ! HALOCLINE_HOST_STREAM, all earlier work on the fields must be done before start, on a GPU too,
    ! and the halos are there when finish returns.
    procedure :: start => exchange_start
    ! Progresses work that needs the host; returns true once finish would not wait.
    procedure :: progress => exchange_progress
    procedure :: finish => exchange_finish
    procedure :: run => exchange_run
    ! start_at(arrays [, stream]), run_at(arrays [, stream]): the same for other arrays in the place
    ! of the fields: each with the shape and kind of memory of one of them, in their order, which is
    ! not checked. `arrays` has their addresses, [c_loc(a), c_loc(b)], of the first elements, halo
    ! included. They may be others at each call, and on each rank; finish fills those of start_at.
    ! Costs no more than with the fields themselves.
    procedure :: start_at => exchange_start_at
    procedure :: run_at => exchange_run_at
    ! Messages and bytes sent to other ranks by one exchange.
    procedure :: messages => exchange_messages
    procedure :: bytes => exchange_bytes
    ! The chosen transports, "self=self,same-node=shared", and the reasons, in lines.
    procedure :: transports => exchange_transports
    procedure :: reasons => exchange_reasons
    procedure :: destroy => exchange_destroy
    procedure, private :: exchange_create_one, exchange_create_all
    procedure, private :: copy_exchange
    generic :: assignment(=) => copy_exchange
    final :: finalize_exchange
  end type

  ! For modules over further C calls. halocline_return_status(status [, stat, errmsg]) passes on the
  ! outcome of a call, and halocline_for_c(text) converts a text, without trailing blanks.
  interface halocline_return_status
    procedure return_status
  end interface
  interface halocline_for_c
    procedure for_c
  end interface

  interface halocline_bind_device
    procedure bind_device, bind_device_f08
  end interface

  ! HALOCLINE_AS_EXPECTED of halocline.h.
  integer(c_int64_t), parameter :: as_expected = -huge(0_c_int64_t)

  ! The structs of halocline.h.

  type, bind(c) :: c_box
    integer(c_int64_t) :: lower(3) = 0, upper(3) = 0
  end type

  type, bind(c) :: c_grid_options
    integer(c_size_t) :: struct_size = 0
    integer(c_int64_t) :: cells(3) = 0
    integer(c_int) :: periodic(3) = 0
    integer(c_int64_t) :: process_grid(3) = 0
    integer(c_int64_t) :: expected_halo = 1
    real(c_double) :: wait_limit = 120
    type(c_ptr) :: expected_widths = c_null_ptr
  end type

  type, bind(c) :: c_grid_info
    integer(c_size_t) :: struct_size = 0
    integer(c_int) :: rank = 0, ranks = 0, axes = 0
    integer(c_int64_t) :: cells(3) = 0, process_grid(3) = 0, place(3) = 0
    type(c_box) :: owned
  end type

  type, bind(c) :: c_field_options
    integer(c_size_t) :: struct_size = 0
    type(c_ptr) :: name = c_null_ptr
    integer(c_int64_t) :: element_bytes = 0
    integer(c_int64_t) :: components = 1
    type(c_box) :: halo = c_box(as_expected, as_expected)
    type(c_ptr) :: memory = c_null_ptr
    integer(c_int64_t) :: extents(3) = 0, strides(3) = 0
    integer(c_int64_t) :: component_stride = 0
  end type

  type, bind(c) :: c_field_info
    integer(c_size_t) :: struct_size = 0
    type(c_ptr) :: first = c_null_ptr, first_owned = c_null_ptr
    integer(c_int64_t) :: strides(3) = 0, component_stride = 0
    type(c_box) :: held
  end type

  type, bind(c) :: c_exchange_options
    integer(c_size_t) :: struct_size = 0
    type(c_ptr) :: neighbours = c_null_ptr, widths = c_null_ptr
    type(c_ptr) :: transport = c_null_ptr, proofs = c_null_ptr
    integer(c_int) :: same_order = 0
  end type

  type, bind(c) :: c_exchange_info
    integer(c_size_t) :: struct_size = 0
    integer(c_int64_t) :: messages = 0, bytes = 0
    type(c_ptr) :: transports = c_null_ptr, reasons = c_null_ptr
  end type

  type, bind(c) :: c_device_info
    integer(c_size_t) :: struct_size = 0
    integer(c_int) :: ordinal = -1, ranks_on_gpu = 0
    character(kind=c_char) :: name(96) = c_null_char, uuid(48) = c_null_char
  end type

  type, bind(c) :: c_report_options
    integer(c_size_t) :: struct_size = 0
    type(c_ptr) :: problem = c_null_ptr, backend = c_null_ptr, schedule = c_null_ptr
    integer(c_int) :: threads = 1
    integer(c_int64_t) :: sweeps = 0
    type(c_ptr) :: norm = c_null_ptr
    real(c_double) :: norm_value = 0, tolerance = -1
    real(c_double) :: setup_seconds = 0, first_sweep_seconds = 0, loop_seconds = 0
    type(c_ptr) :: text = c_null_ptr, json = c_null_ptr
  end type

  ! The functions of halocline.h.
  interface
    function c_last_error() bind(c, name='halocline_last_error')
      import :: c_ptr
      type(c_ptr) :: c_last_error
    end function
    function c_version() bind(c, name='halocline_version')
      import :: c_ptr
      type(c_ptr) :: c_version
    end function
    function c_grid_create(communicator, options, grid) bind(c, name='halocline_grid_create')
      import :: c_int, c_ptr, c_grid_options
      integer(c_int), value :: communicator
      type(c_grid_options), intent(in) :: options
      type(c_ptr), intent(out) :: grid
      integer(c_int) :: c_grid_create
    end function
    function c_grid_destroy(grid) bind(c, name='halocline_grid_destroy')
      import :: c_int, c_ptr
      type(c_ptr), intent(inout) :: grid
      integer(c_int) :: c_grid_destroy
    end function
    function c_grid_get_info(grid, info) bind(c, name='halocline_grid_get_info')
      import :: c_int, c_ptr, c_grid_info
      type(c_ptr), value :: grid
      type(c_grid_info), intent(inout) :: info
      integer(c_int) :: c_grid_get_info
    end function
    function c_grid_neighbour(grid, direction, rank) bind(c, name='halocline_grid_neighbour')
      import :: c_int, c_ptr
      type(c_ptr), value :: grid
      integer(c_int), intent(in) :: direction(3)
      integer(c_int), intent(out) :: rank
      integer(c_int) :: c_grid_neighbour
    end function
    function c_grid_interior(grid, reach, interior) bind(c, name='halocline_grid_interior')
      import :: c_int, c_ptr, c_box
      type(c_ptr), value :: grid
      type(c_box), intent(in) :: reach
      type(c_box), intent(out) :: interior
      integer(c_int) :: c_grid_interior
    end function
    function c_grid_boundary(grid, reach, boxes, count) bind(c, name='halocline_grid_boundary')
      import :: c_int, c_ptr, c_box
      type(c_ptr), value :: grid
      type(c_box), intent(in) :: reach
      type(c_box), intent(out) :: boxes(6)
      integer(c_int), intent(out) :: count
      integer(c_int) :: c_grid_boundary
    end function
    function c_field_create(grid, options, field) bind(c, name='halocline_field_create')
      import :: c_int, c_ptr, c_field_options
      type(c_ptr), value :: grid
      type(c_field_options), intent(in) :: options
      type(c_ptr), intent(out) :: field
      integer(c_int) :: c_field_create
    end function
    function c_field_wrap(grid, first, options, field) bind(c, name='halocline_field_wrap')
      import :: c_int, c_ptr, c_field_options
      type(c_ptr), value :: grid, first
      type(c_field_options), intent(in) :: options
      type(c_ptr), intent(out) :: field
      integer(c_int) :: c_field_wrap
    end function
    function c_field_destroy(field) bind(c, name='halocline_field_destroy')
      import :: c_int, c_ptr
      type(c_ptr), intent(inout) :: field
      integer(c_int) :: c_field_destroy
    end function
    function c_field_get_info(field, info) bind(c, name='halocline_field_get_info')
      import :: c_int, c_ptr, c_field_info
      type(c_ptr), value :: field
      type(c_field_info), intent(inout) :: info
      integer(c_int) :: c_field_get_info
    end function
    function c_field_noise(field, seed) bind(c, name='halocline_field_noise')
      import :: c_int, c_ptr, c_int64_t
      type(c_ptr), value :: field
      integer(c_int64_t), value :: seed
      integer(c_int) :: c_field_noise
    end function
    function c_field_checksum(field, checksum) bind(c, name='halocline_field_checksum')
      import :: c_int, c_ptr, c_int64_t
      type(c_ptr), value :: field
      integer(c_int64_t), intent(out) :: checksum
      integer(c_int) :: c_field_checksum
    end function
    function c_field_sum(field, sum) bind(c, name='halocline_field_sum')
      import :: c_int, c_ptr, c_double
      type(c_ptr), value :: field
      real(c_double), intent(out) :: sum
      integer(c_int) :: c_field_sum
    end function
    function c_exchange_create(grid, fields, count, options, exchange) &
        bind(c, name='halocline_exchange_create')
      import :: c_int, c_ptr, c_exchange_options
      type(c_ptr), value :: grid
      type(c_ptr), intent(in) :: fields(*)
      integer(c_int), value :: count
      type(c_exchange_options), intent(in) :: options
      type(c_ptr), intent(out) :: exchange
      integer(c_int) :: c_exchange_create
    end function
    function c_exchange_destroy(exchange) bind(c, name='halocline_exchange_destroy')
      import :: c_int, c_ptr
      type(c_ptr), intent(inout) :: exchange
      integer(c_int) :: c_exchange_destroy
    end function
    function c_exchange_start(exchange, stream) bind(c, name='halocline_exchange_start')
      import :: c_int, c_ptr
      type(c_ptr), value :: exchange, stream
      integer(c_int) :: c_exchange_start
    end function
    function c_exchange_progress(exchange, done) bind(c, name='halocline_exchange_progress')
      import :: c_int, c_ptr
      type(c_ptr), value :: exchange
      integer(c_int), intent(out) :: done
      integer(c_int) :: c_exchange_progress
    end function
    function c_exchange_finish(exchange, stream) bind(c, name='halocline_exchange_finish')
      import :: c_int, c_ptr
      type(c_ptr), value :: exchange, stream
      integer(c_int) :: c_exchange_finish
    end function
    function c_exchange_run(exchange, stream) bind(c, name='halocline_exchange_run')
      import :: c_int, c_ptr
      type(c_ptr), value :: exchange, stream
      integer(c_int) :: c_exchange_run
    end function
    function c_exchange_start_at(exchange, arrays, count, stream) &
        bind(c, name='halocline_exchange_start_at')
      import :: c_int, c_ptr
      type(c_ptr), value :: exchange, stream
      type(c_ptr), intent(in) :: arrays(*)
      integer(c_int), value :: count
      integer(c_int) :: c_exchange_start_at
    end function
    function c_exchange_run_at(exchange, arrays, count, stream) &
        bind(c, name='halocline_exchange_run_at')
      import :: c_int, c_ptr
      type(c_ptr), value :: exchange, stream
      type(c_ptr), intent(in) :: arrays(*)
      integer(c_int), value :: count
      integer(c_int) :: c_exchange_run_at
    end function
    function c_exchange_get_info(exchange, info) bind(c, name='halocline_exchange_get_info')
      import :: c_int, c_ptr, c_exchange_info
      type(c_ptr), value :: exchange
      type(c_exchange_info), intent(inout) :: info
      integer(c_int) :: c_exchange_get_info
    end function
    function c_bind_device(communicator, info) bind(c, name='halocline_bind_device')
      import :: c_int, c_device_info
      integer(c_int), value :: communicator
      type(c_device_info), intent(inout) :: info
      integer(c_int) :: c_bind_device
    end function
    function c_norm(grid, kind, share, norm) bind(c, name='halocline_norm')
      import :: c_int, c_ptr, c_double
      type(c_ptr), value :: grid, kind
      real(c_double), value :: share
      real(c_double), intent(out) :: norm
      integer(c_int) :: c_norm
    end function
    function c_report_write(field, exchange, options) bind(c, name='halocline_report_write')
      import :: c_int, c_ptr, c_report_options
      type(c_ptr), value :: field, exchange
      type(c_report_options), intent(in) :: options
      integer(c_int) :: c_report_write
    end function
    function c_strlen(text) bind(c, name='strlen')
      import :: c_ptr, c_size_t
      type(c_ptr), value :: text
      integer(c_size_t) :: c_strlen
    end function
  end interface

contains

  ! ---- errors and texts ----

  ! Passes the outcome of a call to stat and errmsg; without stat an error stops the program.
  subroutine return_status(status, stat, errmsg)
    integer(c_int), intent(in) :: status
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    if (present(stat)) stat = int(status)
    if (status == HALOCLINE_OK) return
    if (present(errmsg)) errmsg = text_of(c_last_error())
    if (present(stat)) return
    write (error_unit, '(2a)') 'halocline: ', text_of(c_last_error())
    flush (error_unit)
    error stop 1
  end subroutine

  ! Returns true if a list has at most 3 axes; else sets the error.
  logical function has_axes(number, what, stat, errmsg)
    integer, intent(in) :: number
    character(*), intent(in) :: what
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    character(200) :: text
    has_axes = number <= 3
    if (has_axes) return
    write (text, '(2a, i0, a)') what, ' has ', number, ' values, but a grid has 3 axes at most'
    call refuse(text, stat, errmsg)
  end function

  ! Returns true if a list has a value for each axis; else sets the error.
  logical function has_one_each(number, what, axes, stat, errmsg)
    integer, intent(in) :: number, axes
    character(*), intent(in) :: what
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    character(200) :: text
    has_one_each = number == axes
    if (has_one_each) return
    write (text, '(3a, i0, a, i0)') 'number of values of ', what, ': ', number, &
      '; give one for each axis of cells, which are ', axes
    call refuse(text, stat, errmsg)
  end function

  ! Returns a usage error of this module's own.
  subroutine refuse(text, stat, errmsg)
    character(*), intent(in) :: text
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    if (present(stat)) stat = HALOCLINE_USAGE
    if (present(errmsg)) errmsg = text
    if (present(stat)) return
    write (error_unit, '(2a)') 'halocline: ', trim(text)
    flush (error_unit)
    error stop 1
  end subroutine

  ! A copy of a C string; empty for a null one.
  function text_of(address) result(text)
    type(c_ptr), intent(in) :: address
    character(:), allocatable :: text
    character(kind=c_char), pointer :: letters(:)
    integer(c_size_t) :: length, i
    length = 0
    if (c_associated(address)) length = c_strlen(address)
    allocate (character(length) :: text)
    if (length == 0) return
    call c_f_pointer(address, letters, [length])
    do i = 1, length
      text(i:i) = letters(i)
    end do
  end function

  ! Converts a text for C, without trailing blanks.
  function for_c(text) result(letters)
    character(*), intent(in) :: text
    character(kind=c_char), allocatable :: letters(:)
    integer :: i
    allocate (letters(len_trim(text) + 1))
    do i = 1, len_trim(text)
      letters(i) = text(i:i)
    end do
    letters(size(letters)) = c_null_char
  end function

  function halocline_version() result(version)
    character(:), allocatable :: version
    version = text_of(c_version())
  end function

  ! ---- grid ----

  subroutine grid_create_int64(this, communicator, cells, periodic, process_grid, expected_halo, &
                               wait_limit, expected_sides, stat, errmsg)
    class(halocline_grid), intent(inout) :: this
    integer, intent(in) :: communicator
    integer(int64), intent(in) :: cells(:)
    logical, intent(in), optional :: periodic(:)
    integer, intent(in), optional :: process_grid(:)
    integer, intent(in), optional :: expected_halo
    real(real64), intent(in), optional :: wait_limit  ! seconds; 0: none
    type(halocline_widths), intent(in), optional :: expected_sides
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_box), target :: widths
    type(c_grid_options) :: options
    call this%destroy()
    options%struct_size = c_sizeof(options)
    if (.not. has_axes(size(cells), 'cells', stat, errmsg)) return
    if (present(periodic)) then
      if (.not. has_one_each(size(periodic), 'periodic', size(cells), stat, errmsg)) return
    end if
    if (present(process_grid)) then
      if (.not. has_one_each(size(process_grid), 'process_grid', size(cells), stat, errmsg)) return
    end if
    options%cells(:size(cells)) = cells
    if (present(periodic)) options%periodic(:size(periodic)) = merge(1, 0, periodic)
    if (present(process_grid)) options%process_grid(:size(process_grid)) = process_grid
    if (present(expected_halo) .or. present(expected_sides)) then
      widths = widths_of(expected_halo, expected_sides)
      options%expected_widths = c_loc(widths)
    end if
    if (present(wait_limit)) options%wait_limit = wait_limit
    call return_status(c_grid_create(int(communicator, c_int), options, this%handle), stat, errmsg)
  end subroutine

  subroutine grid_create_int32(this, communicator, cells, periodic, process_grid, expected_halo, &
                               wait_limit, expected_sides, stat, errmsg)
    class(halocline_grid), intent(inout) :: this
    integer, intent(in) :: communicator
    integer(int32), intent(in) :: cells(:)
    logical, intent(in), optional :: periodic(:)
    integer, intent(in), optional :: process_grid(:)
    integer, intent(in), optional :: expected_halo
    real(real64), intent(in), optional :: wait_limit
    type(halocline_widths), intent(in), optional :: expected_sides
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call grid_create_int64(this, communicator, int(cells, int64), periodic, process_grid, &
                           expected_halo, wait_limit, expected_sides, stat, errmsg)
  end subroutine

  subroutine grid_create_f08_int64(this, communicator, cells, periodic, process_grid, &
                                   expected_halo, wait_limit, expected_sides, stat, errmsg)
    class(halocline_grid), intent(inout) :: this
    type(MPI_Comm), intent(in) :: communicator
    integer(int64), intent(in) :: cells(:)
    logical, intent(in), optional :: periodic(:)
    integer, intent(in), optional :: process_grid(:)
    integer, intent(in), optional :: expected_halo
    real(real64), intent(in), optional :: wait_limit
    type(halocline_widths), intent(in), optional :: expected_sides
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call grid_create_int64(this, communicator%MPI_VAL, cells, periodic, process_grid, &
                           expected_halo, wait_limit, expected_sides, stat, errmsg)
  end subroutine

  subroutine grid_create_f08_int32(this, communicator, cells, periodic, process_grid, &
                                   expected_halo, wait_limit, expected_sides, stat, errmsg)
    class(halocline_grid), intent(inout) :: this
    type(MPI_Comm), intent(in) :: communicator
    integer(int32), intent(in) :: cells(:)
    logical, intent(in), optional :: periodic(:)
    integer, intent(in), optional :: process_grid(:)
    integer, intent(in), optional :: expected_halo
    real(real64), intent(in), optional :: wait_limit
    type(halocline_widths), intent(in), optional :: expected_sides
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call grid_create_int64(this, communicator%MPI_VAL, int(cells, int64), periodic, process_grid, &
                           expected_halo, wait_limit, expected_sides, stat, errmsg)
  end subroutine

  function info_of(this) result(info)
    class(halocline_grid), intent(in) :: this
    type(c_grid_info) :: info
    info%struct_size = c_sizeof(info)
    call return_status(c_grid_get_info(this%handle, info))
  end function

  integer function grid_rank(this)
    class(halocline_grid), intent(in) :: this
    type(c_grid_info) :: info
    info = info_of(this)
    grid_rank = int(info%rank)
  end function

  integer function grid_ranks(this)
    class(halocline_grid), intent(in) :: this
    type(c_grid_info) :: info
    info = info_of(this)
    grid_ranks = int(info%ranks)
  end function

  function grid_process_grid(this) result(parts)
    class(halocline_grid), intent(in) :: this
    integer :: parts(3)
    type(c_grid_info) :: info
    info = info_of(this)
    parts = int(info%process_grid)
  end function

  pure function box_of(box)
    type(c_box), intent(in) :: box
    type(halocline_box) :: box_of
    box_of%lower = box%lower + 1
    box_of%upper = box%upper
  end function

  function grid_owned(this) result(box)
    class(halocline_grid), intent(in) :: this
    type(halocline_box) :: box
    type(c_grid_info) :: info
    info = info_of(this)
    box = box_of(info%owned)
  end function

  ! The same width on all sides, or one for each side; the grid's expected one if neither is given.
  pure function widths_of(everywhere, sides) result(widths)
    integer, intent(in), optional :: everywhere
    type(halocline_widths), intent(in), optional :: sides
    type(c_box) :: widths
    widths = c_box(as_expected, as_expected)
    if (present(everywhere)) widths = c_box(everywhere, everywhere)
    if (present(sides)) widths = c_box(sides%lower, sides%upper)
  end function

  function grid_interior(this, reach, sides) result(box)
    class(halocline_grid), intent(in) :: this
    integer, intent(in), optional :: reach
    type(halocline_widths), intent(in), optional :: sides
    type(halocline_box) :: box
    type(c_box) :: interior
    call return_status(c_grid_interior(this%handle, widths_of(reach, sides), interior))
    box = box_of(interior)
  end function

  function grid_boundary(this, reach, sides) result(boxes)
    class(halocline_grid), intent(in) :: this
    integer, intent(in), optional :: reach
    type(halocline_widths), intent(in), optional :: sides
    type(halocline_box), allocatable :: boxes(:)
    type(c_box) :: all_boxes(6)
    integer(c_int) :: count
    integer :: i
    call return_status(c_grid_boundary(this%handle, widths_of(reach, sides), all_boxes, count))
    allocate (boxes(count))
    do i = 1, count
      boxes(i) = box_of(all_boxes(i))
    end do
  end function

  integer function grid_neighbour(this, direction)
    class(halocline_grid), intent(in) :: this
    integer, intent(in) :: direction(:)
    integer(c_int) :: all_axes(3), rank
    all_axes = 0
    grid_neighbour = -1
    if (.not. has_axes(size(direction), 'direction')) return
    all_axes(:size(direction)) = direction
    call return_status(c_grid_neighbour(this%handle, all_axes, rank))
    grid_neighbour = int(rank)
  end function

  subroutine grid_destroy(this)
    class(halocline_grid), intent(inout) :: this
    call return_status(c_grid_destroy(this%handle))
  end subroutine

  type(c_ptr) function grid_handle(this)
    class(halocline_grid), intent(in) :: this
    grid_handle = this%handle
  end function

  impure elemental subroutine finalize_grid(this)
    type(halocline_grid), intent(inout) :: this
    call this%destroy()
  end subroutine

  subroutine copy_grid(this, other)
    class(halocline_grid), intent(inout) :: this
    class(halocline_grid), intent(in) :: other
    if (c_associated(this%handle) .or. c_associated(other%handle)) call refuse_copy('a grid')
  end subroutine

  subroutine refuse_copy(what)
    character(*), intent(in) :: what
    write (error_unit, '(3a)') 'halocline: ', what, ' cannot be copied; pass it as an argument'
    flush (error_unit)
    error stop 1
  end subroutine

  ! ---- field ----

  subroutine field_create(this, grid, element_bytes, halo, components, memory, name, sides, stat, &
                          errmsg)
    class(halocline_field), intent(inout) :: this
    class(halocline_grid), intent(in) :: grid
    integer, intent(in) :: element_bytes
    integer, intent(in), optional :: halo
    integer, intent(in), optional :: components
    character(*), intent(in), optional :: memory, name
    type(halocline_widths), intent(in), optional :: sides
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call make_field(this, grid, c_null_ptr, element_bytes, halo, components, memory=memory, &
                    name=name, sides=sides, stat=stat, errmsg=errmsg)
  end subroutine

  subroutine wrap_address(this, grid, address, element_bytes, halo, components, memory, extents, &
                          strides, component_stride, name, sides, stat, errmsg)
    class(halocline_field), intent(inout) :: this
    class(halocline_grid), intent(in) :: grid
    type(c_ptr), intent(in) :: address
    integer, intent(in) :: element_bytes
    integer, intent(in), optional :: halo
    integer, intent(in), optional :: components
    character(*), intent(in), optional :: memory, name
    integer(int64), intent(in), optional :: extents(:), strides(:)
    integer(int64), intent(in), optional :: component_stride
    type(halocline_widths), intent(in), optional :: sides
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call make_field(this, grid, address, element_bytes, halo, components, extents, strides, &
                    component_stride, memory, name, .true., sides, stat, errmsg)
  end subroutine

  subroutine make_field(this, grid, address, element_bytes, halo, components, extents, strides, &
                        component_stride, memory, name, wraps, sides, stat, errmsg)
    class(halocline_field), intent(inout) :: this
    class(halocline_grid), intent(in) :: grid
    type(c_ptr), intent(in) :: address
    integer, intent(in) :: element_bytes
    integer, intent(in), optional :: halo, components
    integer(int64), intent(in), optional :: extents(:), strides(:)
    integer(int64), intent(in), optional :: component_stride
    character(*), intent(in), optional :: memory, name
    logical, intent(in), optional :: wraps
    type(halocline_widths), intent(in), optional :: sides
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    character(kind=c_char), allocatable, target :: memory_c(:), name_c(:)
    type(c_field_options) :: options
    call this%destroy()
    if (present(extents)) then
      if (.not. has_axes(size(extents), 'extents', stat, errmsg)) return
    end if
    if (present(strides)) then
      if (.not. has_axes(size(strides), 'strides', stat, errmsg)) return
    end if
    memory_c = for_c('host')
    name_c = for_c('field')
    if (present(memory)) memory_c = for_c(memory)
    if (present(name)) name_c = for_c(name)
    options%struct_size = c_sizeof(options)
    options%name = c_loc(name_c)
    options%memory = c_loc(memory_c)
    options%element_bytes = element_bytes
    options%halo = widths_of(halo, sides)
    if (present(components)) options%components = components
    if (present(extents)) options%extents(:size(extents)) = extents
    if (present(strides)) options%strides(:size(strides)) = strides
    if (present(component_stride)) options%component_stride = component_stride
    if (present(wraps)) then
      call return_status(c_field_wrap(grid%handle, address, options, this%handle), stat, errmsg)
    else
      call return_status(c_field_create(grid%handle, options, this%handle), stat, errmsg)
    end if
  end subroutine

  ! Wraps an array of any number of axes: `ends` has the addresses of its first element and of the
  ! last one along each axis. One procedure for all ranks would need `select rank` of Fortran 2018,
  ! which nvfortran does not have.
  subroutine wrap_array(this, grid, ends, element_bytes, extents, halo, name, sides, &
                        component_axis, stat, errmsg)
    class(halocline_field), intent(inout) :: this
    class(halocline_grid), intent(in) :: grid
    type(c_ptr), intent(in) :: ends(0:)
    integer, intent(in) :: element_bytes
    integer(int64), intent(in) :: extents(:)
    integer, intent(in), optional :: halo
    character(*), intent(in), optional :: name
    type(halocline_widths), intent(in), optional :: sides
    integer, intent(in), optional :: component_axis
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_grid_info) :: info
    integer(c_int) :: status
    integer(int64) :: component_stride, bytes(0:size(extents)), strides(size(extents))
    integer :: axes, components
    logical :: is_space(size(extents))
    character(300) :: text
    call this%destroy()
    info%struct_size = c_sizeof(info)
    status = c_grid_get_info(grid%handle, info)
    if (status /= HALOCLINE_OK) then
      call return_status(status, stat, errmsg)
      return
    end if
    axes = size(extents)
    bytes = transfer(ends, bytes)
    strides = (bytes(1:) - bytes(0))/(max(extents - 1, 1_int64)*element_bytes)
    components = 1
    component_stride = 0
    is_space = .true.
    if (present(component_axis)) then
      if (component_axis < 1 .or. component_axis > axes) then
        write (text, '(2(a, i0))') 'component_axis is ', component_axis, &
          ', but the array has axes 1 to ', axes
        call refuse(text, stat, errmsg)
        return
      end if
      components = int(extents(component_axis))
      component_stride = strides(component_axis)
      is_space(component_axis) = .false.
    end if
    if (count(is_space) /= info%axes) then
      write (text, '(2(a, i0), a)') 'the grid has ', info%axes, ' axes, but the array has ', &
        count(is_space), ' for cells; for several components per cell the array has one axis ' // &
        'more, and component_axis is its number'
      call refuse(text, stat, errmsg)
    else if (any(extents < 1)) then
      call refuse('the array has no elements', stat, errmsg)
    else
      call make_field(this, grid, ends(0), element_bytes, halo, components, &
                      pack(extents, is_space), pack(strides, is_space), component_stride, &
                      name=name, wraps=.true., sides=sides, stat=stat, errmsg=errmsg)
    end if
  end subroutine

  subroutine wrap_real64_1(this, grid, array, halo, name, sides, component_axis, stat, errmsg)
    class(halocline_field), intent(inout) :: this
    class(halocline_grid), intent(in) :: grid
    real(real64), intent(in), target :: array(:)
    integer, intent(in), optional :: halo
    character(*), intent(in), optional :: name
    type(halocline_widths), intent(in), optional :: sides
    integer, intent(in), optional :: component_axis
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: ends(0:1)
    ends = c_null_ptr
    if (size(array) > 0) ends = [c_loc(array(1)), c_loc(array(size(array)))]
    call wrap_array(this, grid, ends, 8, shape(array, int64), halo, name, sides, component_axis, &
                    stat, errmsg)
  end subroutine

  subroutine wrap_real64_2(this, grid, array, halo, name, sides, component_axis, stat, errmsg)
    class(halocline_field), intent(inout) :: this
    class(halocline_grid), intent(in) :: grid
    real(real64), intent(in), target :: array(:, :)
    integer, intent(in), optional :: halo
    character(*), intent(in), optional :: name
    type(halocline_widths), intent(in), optional :: sides
    integer, intent(in), optional :: component_axis
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: ends(0:2)
    ends = c_null_ptr
    if (size(array) > 0) ends = [c_loc(array(1, 1)), c_loc(array(size(array, 1), 1)), &
                                 c_loc(array(1, size(array, 2)))]
    call wrap_array(this, grid, ends, 8, shape(array, int64), halo, name, sides, component_axis, &
                    stat, errmsg)
  end subroutine

  subroutine wrap_real64_3(this, grid, array, halo, name, sides, component_axis, stat, errmsg)
    class(halocline_field), intent(inout) :: this
    class(halocline_grid), intent(in) :: grid
    real(real64), intent(in), target :: array(:, :, :)
    integer, intent(in), optional :: halo
    character(*), intent(in), optional :: name
    type(halocline_widths), intent(in), optional :: sides
    integer, intent(in), optional :: component_axis
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: ends(0:3)
    ends = c_null_ptr
    if (size(array) > 0) ends = [c_loc(array(1, 1, 1)), c_loc(array(size(array, 1), 1, 1)), &
                                 c_loc(array(1, size(array, 2), 1)), &
                                 c_loc(array(1, 1, size(array, 3)))]
    call wrap_array(this, grid, ends, 8, shape(array, int64), halo, name, sides, component_axis, &
                    stat, errmsg)
  end subroutine

  subroutine wrap_real64_4(this, grid, array, halo, name, sides, component_axis, stat, errmsg)
    class(halocline_field), intent(inout) :: this
    class(halocline_grid), intent(in) :: grid
    real(real64), intent(in), target :: array(:, :, :, :)
    integer, intent(in), optional :: halo
    character(*), intent(in), optional :: name
    type(halocline_widths), intent(in), optional :: sides
    integer, intent(in), optional :: component_axis
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: ends(0:4)
    ends = c_null_ptr
    if (size(array) > 0) ends = [c_loc(array(1, 1, 1, 1)), c_loc(array(size(array, 1), 1, 1, 1)), &
                                 c_loc(array(1, size(array, 2), 1, 1)), &
                                 c_loc(array(1, 1, size(array, 3), 1)), &
                                 c_loc(array(1, 1, 1, size(array, 4)))]
    call wrap_array(this, grid, ends, 8, shape(array, int64), halo, name, sides, component_axis, &
                    stat, errmsg)
  end subroutine

  subroutine wrap_real32_1(this, grid, array, halo, name, sides, component_axis, stat, errmsg)
    class(halocline_field), intent(inout) :: this
    class(halocline_grid), intent(in) :: grid
    real(real32), intent(in), target :: array(:)
    integer, intent(in), optional :: halo
    character(*), intent(in), optional :: name
    type(halocline_widths), intent(in), optional :: sides
    integer, intent(in), optional :: component_axis
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: ends(0:1)
    ends = c_null_ptr
    if (size(array) > 0) ends = [c_loc(array(1)), c_loc(array(size(array)))]
    call wrap_array(this, grid, ends, 4, shape(array, int64), halo, name, sides, component_axis, &
                    stat, errmsg)
  end subroutine

  subroutine wrap_real32_2(this, grid, array, halo, name, sides, component_axis, stat, errmsg)
    class(halocline_field), intent(inout) :: this
    class(halocline_grid), intent(in) :: grid
    real(real32), intent(in), target :: array(:, :)
    integer, intent(in), optional :: halo
    character(*), intent(in), optional :: name
    type(halocline_widths), intent(in), optional :: sides
    integer, intent(in), optional :: component_axis
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: ends(0:2)
    ends = c_null_ptr
    if (size(array) > 0) ends = [c_loc(array(1, 1)), c_loc(array(size(array, 1), 1)), &
                                 c_loc(array(1, size(array, 2)))]
    call wrap_array(this, grid, ends, 4, shape(array, int64), halo, name, sides, component_axis, &
                    stat, errmsg)
  end subroutine

  subroutine wrap_real32_3(this, grid, array, halo, name, sides, component_axis, stat, errmsg)
    class(halocline_field), intent(inout) :: this
    class(halocline_grid), intent(in) :: grid
    real(real32), intent(in), target :: array(:, :, :)
    integer, intent(in), optional :: halo
    character(*), intent(in), optional :: name
    type(halocline_widths), intent(in), optional :: sides
    integer, intent(in), optional :: component_axis
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: ends(0:3)
    ends = c_null_ptr
    if (size(array) > 0) ends = [c_loc(array(1, 1, 1)), c_loc(array(size(array, 1), 1, 1)), &
                                 c_loc(array(1, size(array, 2), 1)), &
                                 c_loc(array(1, 1, size(array, 3)))]
    call wrap_array(this, grid, ends, 4, shape(array, int64), halo, name, sides, component_axis, &
                    stat, errmsg)
  end subroutine

  subroutine wrap_real32_4(this, grid, array, halo, name, sides, component_axis, stat, errmsg)
    class(halocline_field), intent(inout) :: this
    class(halocline_grid), intent(in) :: grid
    real(real32), intent(in), target :: array(:, :, :, :)
    integer, intent(in), optional :: halo
    character(*), intent(in), optional :: name
    type(halocline_widths), intent(in), optional :: sides
    integer, intent(in), optional :: component_axis
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: ends(0:4)
    ends = c_null_ptr
    if (size(array) > 0) ends = [c_loc(array(1, 1, 1, 1)), c_loc(array(size(array, 1), 1, 1, 1)), &
                                 c_loc(array(1, size(array, 2), 1, 1)), &
                                 c_loc(array(1, 1, size(array, 3), 1)), &
                                 c_loc(array(1, 1, 1, size(array, 4)))]
    call wrap_array(this, grid, ends, 4, shape(array, int64), halo, name, sides, component_axis, &
                    stat, errmsg)
  end subroutine

  function field_address(this) result(address)
    class(halocline_field), intent(in) :: this
    type(c_ptr) :: address
    type(c_field_info) :: info
    info%struct_size = c_sizeof(info)
    call return_status(c_field_get_info(this%handle, info))
    address = info%first
  end function

  function field_strides(this) result(strides)
    class(halocline_field), intent(in) :: this
    integer(int64) :: strides(3)
    type(c_field_info) :: info
    info%struct_size = c_sizeof(info)
    call return_status(c_field_get_info(this%handle, info))
    strides = info%strides
  end function

  subroutine field_noise(this, seed, stat, errmsg)
    class(halocline_field), intent(inout) :: this
    integer, intent(in), optional :: seed
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(c_int64_t) :: wanted
    wanted = 12345
    if (present(seed)) wanted = seed
    call return_status(c_field_noise(this%handle, wanted), stat, errmsg)
  end subroutine

  function field_checksum(this, stat, errmsg) result(checksum)
    class(halocline_field), intent(in) :: this
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    integer(int64) :: checksum
    checksum = 0
    call return_status(c_field_checksum(this%handle, checksum), stat, errmsg)
  end function

  function field_sum(this, stat, errmsg) result(total)
    class(halocline_field), intent(in) :: this
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    real(real64) :: total
    total = 0
    call return_status(c_field_sum(this%handle, total), stat, errmsg)
  end function

  subroutine field_destroy(this)
    class(halocline_field), intent(inout) :: this
    call return_status(c_field_destroy(this%handle))
  end subroutine

  type(c_ptr) function field_handle(this)
    class(halocline_field), intent(in) :: this
    field_handle = this%handle
  end function

  impure elemental subroutine finalize_field(this)
    type(halocline_field), intent(inout) :: this
    call this%destroy()
  end subroutine

  subroutine copy_field(this, other)
    class(halocline_field), intent(inout) :: this
    class(halocline_field), intent(in) :: other
    if (c_associated(this%handle) .or. c_associated(other%handle)) call refuse_copy('a field')
  end subroutine

  ! ---- exchange ----

  subroutine exchange_create_one(this, grid, field, neighbours, widths, transport, proofs, sides, &
                                 same_order, stat, errmsg)
    class(halocline_exchange), intent(inout) :: this
    class(halocline_grid), intent(in) :: grid
    type(halocline_field), intent(in) :: field
    character(*), intent(in), optional :: neighbours
    integer, intent(in), optional :: widths
    character(*), intent(in), optional :: transport, proofs
    type(halocline_widths), intent(in), optional :: sides
    logical, intent(in), optional :: same_order
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call make_exchange(this, grid, [field%handle], neighbours, widths, transport, proofs, sides, &
                       same_order, stat, errmsg)
  end subroutine

  subroutine exchange_create_all(this, grid, fields, neighbours, widths, transport, proofs, sides, &
                                 same_order, stat, errmsg)
    class(halocline_exchange), intent(inout) :: this
    class(halocline_grid), intent(in) :: grid
    type(halocline_field), intent(in) :: fields(:)
    character(*), intent(in), optional :: neighbours
    integer, intent(in), optional :: widths
    character(*), intent(in), optional :: transport, proofs
    type(halocline_widths), intent(in), optional :: sides
    logical, intent(in), optional :: same_order
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_ptr) :: handles(size(fields))
    integer :: i
    do i = 1, size(fields)
      handles(i) = fields(i)%handle
    end do
    call make_exchange(this, grid, handles, neighbours, widths, transport, proofs, sides, &
                       same_order, stat, errmsg)
  end subroutine

  subroutine make_exchange(this, grid, fields, neighbours, widths, transport, proofs, sides, &
                           same_order, stat, errmsg)
    class(halocline_exchange), intent(inout) :: this
    class(halocline_grid), intent(in) :: grid
    type(c_ptr), intent(in) :: fields(:)
    character(*), intent(in), optional :: neighbours
    integer, intent(in), optional :: widths
    character(*), intent(in), optional :: transport, proofs
    type(halocline_widths), intent(in), optional :: sides
    logical, intent(in), optional :: same_order
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    character(kind=c_char), allocatable, target :: neighbours_c(:), transport_c(:), proofs_c(:)
    type(c_box), target :: widths_c
    type(c_exchange_options) :: options
    call this%destroy()
    neighbours_c = for_c('all')
    transport_c = for_c('auto')
    if (present(neighbours)) neighbours_c = for_c(neighbours)
    if (present(transport)) transport_c = for_c(transport)
    options%struct_size = c_sizeof(options)
    options%neighbours = c_loc(neighbours_c)
    options%transport = c_loc(transport_c)
    if (present(widths) .or. present(sides)) then
      widths_c = widths_of(widths, sides)
      options%widths = c_loc(widths_c)
    end if
    if (present(proofs)) then
      proofs_c = for_c(proofs)
      options%proofs = c_loc(proofs_c)
    end if
    if (present(same_order)) options%same_order = merge(1_c_int, 0_c_int, same_order)
    call return_status(c_exchange_create(grid%handle, fields, size(fields, kind=c_int), options, &
                                  this%handle), stat, errmsg)
  end subroutine

  pure function stream_of(stream) result(native)
    type(c_ptr), intent(in), optional :: stream
    type(c_ptr) :: native
    native = c_null_ptr
    if (present(stream)) native = stream
  end function

  subroutine exchange_start(this, stream, stat, errmsg)
    class(halocline_exchange), intent(inout) :: this
    type(c_ptr), intent(in), optional :: stream
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call return_status(c_exchange_start(this%handle, stream_of(stream)), stat, errmsg)
  end subroutine

  function exchange_progress(this, stat, errmsg) result(is_done)
    class(halocline_exchange), intent(inout) :: this
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    logical :: is_done
    integer(c_int) :: done
    done = 0
    call return_status(c_exchange_progress(this%handle, done), stat, errmsg)
    is_done = done /= 0
  end function

  subroutine exchange_finish(this, stream, stat, errmsg)
    class(halocline_exchange), intent(inout) :: this
    type(c_ptr), intent(in), optional :: stream
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call return_status(c_exchange_finish(this%handle, stream_of(stream)), stat, errmsg)
  end subroutine

  subroutine exchange_run(this, stream, stat, errmsg)
    class(halocline_exchange), intent(inout) :: this
    type(c_ptr), intent(in), optional :: stream
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call return_status(c_exchange_run(this%handle, stream_of(stream)), stat, errmsg)
  end subroutine

  subroutine exchange_start_at(this, arrays, stream, stat, errmsg)
    class(halocline_exchange), intent(inout) :: this
    type(c_ptr), intent(in) :: arrays(:)
    type(c_ptr), intent(in), optional :: stream
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call return_status(c_exchange_start_at(this%handle, arrays, size(arrays, kind=c_int), &
                                    stream_of(stream)), stat, errmsg)
  end subroutine

  subroutine exchange_run_at(this, arrays, stream, stat, errmsg)
    class(halocline_exchange), intent(inout) :: this
    type(c_ptr), intent(in) :: arrays(:)
    type(c_ptr), intent(in), optional :: stream
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call return_status(c_exchange_run_at(this%handle, arrays, size(arrays, kind=c_int), &
                                  stream_of(stream)), stat, errmsg)
  end subroutine

  function facts_of(this) result(info)
    class(halocline_exchange), intent(in) :: this
    type(c_exchange_info) :: info
    info%struct_size = c_sizeof(info)
    call return_status(c_exchange_get_info(this%handle, info))
  end function

  integer(int64) function exchange_messages(this)
    class(halocline_exchange), intent(in) :: this
    type(c_exchange_info) :: info
    info = facts_of(this)
    exchange_messages = info%messages
  end function

  integer(int64) function exchange_bytes(this)
    class(halocline_exchange), intent(in) :: this
    type(c_exchange_info) :: info
    info = facts_of(this)
    exchange_bytes = info%bytes
  end function

  function exchange_transports(this) result(text)
    class(halocline_exchange), intent(in) :: this
    character(:), allocatable :: text
    type(c_exchange_info) :: info
    info = facts_of(this)
    text = text_of(info%transports)
  end function

  function exchange_reasons(this) result(text)
    class(halocline_exchange), intent(in) :: this
    character(:), allocatable :: text
    type(c_exchange_info) :: info
    info = facts_of(this)
    text = text_of(info%reasons)
  end function

  subroutine exchange_destroy(this)
    class(halocline_exchange), intent(inout) :: this
    call return_status(c_exchange_destroy(this%handle))
  end subroutine

  impure elemental subroutine finalize_exchange(this)
    type(halocline_exchange), intent(inout) :: this
    call this%destroy()
  end subroutine

  subroutine copy_exchange(this, other)
    class(halocline_exchange), intent(inout) :: this
    class(halocline_exchange), intent(in) :: other
    if (c_associated(this%handle) .or. c_associated(other%handle)) call refuse_copy('an exchange')
  end subroutine

  ! ---- the rest ----

  ! Binds every rank to one of the GPUs it sees and makes that GPU's primary context current in the
  ! calling thread. Call it before the first directive, which then uses that context too.
  ! Collective.
  subroutine bind_device(communicator, device, stat, errmsg)
    integer, intent(in) :: communicator
    type(halocline_gpu), intent(out), optional :: device
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    type(c_device_info) :: info
    integer(c_int) :: status
    integer :: i
    info%struct_size = c_sizeof(info)
    status = c_bind_device(int(communicator, c_int), info)
    if (present(device) .and. status == HALOCLINE_OK) then
      device%ordinal = int(info%ordinal)
      device%ranks_on_gpu = int(info%ranks_on_gpu)
      do i = 1, size(info%name)
        if (info%name(i) == c_null_char) exit
        device%name(i:i) = info%name(i)
      end do
      do i = 1, size(info%uuid)
        if (info%uuid(i) == c_null_char) exit
        device%uuid(i:i) = info%uuid(i)
      end do
    end if
    call return_status(status, stat, errmsg)
  end subroutine

  subroutine bind_device_f08(communicator, device, stat, errmsg)
    type(MPI_Comm), intent(in) :: communicator
    type(halocline_gpu), intent(out), optional :: device
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    call bind_device(communicator%MPI_VAL, device, stat, errmsg)
  end subroutine

  ! The norm of all ranks: kind 'max', the largest share; 'l2', the root of the sum of shares, which
  ! are sums of squares. Collective.
  function halocline_norm(grid, kind, share, stat, errmsg) result(norm)
    class(halocline_grid), intent(in) :: grid
    character(*), intent(in) :: kind
    real(real64), intent(in) :: share
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    real(real64) :: norm
    character(kind=c_char), allocatable, target :: kind_c(:)
    kind_c = for_c(kind)
    norm = 0
    call return_status(c_norm(grid%handle, c_loc(kind_c), share, norm), stat, errmsg)
  end function

  ! Writes a report of the program as `halocline solve` does, on rank 0. text and json are files,
  ! '-' for standard output; without text the text goes to standard output, '' leaves it out.
  ! Collective.
  subroutine halocline_report(field, exchange, problem, backend, sweeps, loop_seconds, schedule, &
                              threads, norm, norm_value, tolerance, setup_seconds, &
                              first_sweep_seconds, text, json, stat, errmsg)
    class(halocline_field), intent(in) :: field
    class(halocline_exchange), intent(in) :: exchange
    character(*), intent(in) :: problem, backend
    integer, intent(in) :: sweeps
    real(real64), intent(in) :: loop_seconds
    character(*), intent(in), optional :: schedule
    integer, intent(in), optional :: threads
    character(*), intent(in), optional :: norm
    real(real64), intent(in), optional :: norm_value, tolerance
    real(real64), intent(in), optional :: setup_seconds, first_sweep_seconds
    character(*), intent(in), optional :: text, json
    integer, intent(out), optional :: stat
    character(*), intent(inout), optional :: errmsg
    character(kind=c_char), allocatable, target :: problem_c(:), backend_c(:), schedule_c(:)
    character(kind=c_char), allocatable, target :: norm_c(:), text_c(:), json_c(:)
    type(c_report_options) :: options
    problem_c = for_c(problem)
    backend_c = for_c(backend)
    schedule_c = for_c('sequential')
    norm_c = for_c('none')
    text_c = for_c('-')
    if (present(schedule)) schedule_c = for_c(schedule)
    if (present(norm)) norm_c = for_c(norm)
    if (present(text)) text_c = for_c(text)
    options%struct_size = c_sizeof(options)
    options%problem = c_loc(problem_c)
    options%backend = c_loc(backend_c)
    options%schedule = c_loc(schedule_c)
    options%norm = c_loc(norm_c)
    options%sweeps = sweeps
    options%loop_seconds = loop_seconds
    if (present(threads)) options%threads = int(threads, c_int)
    if (present(norm_value)) options%norm_value = norm_value
    if (present(tolerance)) options%tolerance = tolerance
    if (present(setup_seconds)) options%setup_seconds = setup_seconds
    if (present(first_sweep_seconds)) options%first_sweep_seconds = first_sweep_seconds
    if (size(text_c) > 1) options%text = c_loc(text_c)
    if (present(json)) then
      json_c = for_c(json)
      if (size(json_c) > 1) options%json = c_loc(json_c)
    end if
    call return_status(c_report_write(field%handle, exchange%handle, options), stat, errmsg)
  end subroutine

end module halocline
