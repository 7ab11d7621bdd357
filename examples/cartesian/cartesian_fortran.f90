! SPDX-License-Identifier: Apache-2.0
! The solver of cartesian_cpp.cpp in Fortran: MPI_Cart_create has x first, pointers to two time levels swap.
program cartesian_fortran
  use, intrinsic :: iso_fortran_env, only: real64, int64
  use, intrinsic :: iso_c_binding, only: c_loc
  use mpi
  use halocline
  implicit none
  integer, parameter :: h = 2, sweeps = 5, all(3) = [30, 22, 18]  ! layers of halo, cells
  integer :: cart, dims(3), place(3), n(3), first(3), ranks, rank, error, axis, few, more, wrong
  real(real64), allocatable :: by_hand(:, :, :), with_halocline(:, :, :)

  call MPI_Init(error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  dims = 0
  call MPI_Dims_create(ranks, 3, dims, error)
  call MPI_Cart_create(MPI_COMM_WORLD, 3, dims, [.false., .false., .true.], .false., cart, error)
  call MPI_Comm_rank(cart, rank, error)
  call MPI_Cart_coords(cart, rank, 3, place, error)
  do axis = 1, 3  ! as Halocline, the first parts get one cell more
    few = all(axis)/dims(axis)
    more = mod(all(axis), dims(axis))
    n(axis) = few + merge(1, 0, place(axis) < more)
    first(axis) = place(axis)*few + min(place(axis), more)  ! cells before this part
  end do
  call solve_by_hand(by_hand)
  call solve_with_halocline(with_halocline)
  wrong = count(abs(by_hand - with_halocline) > 0)
  call MPI_Allreduce(MPI_IN_PLACE, wrong, 1, MPI_INTEGER, MPI_SUM, cart, error)
  if (rank == 0) print '(3(a, i0), a, i0)', 'process grid ', dims(1), 'x', dims(2), 'x', dims(3), &
    ', cells that differ: ', wrong
  call MPI_Finalize(error)
  if (wrong /= 0) error stop

contains

  ! Cells or, with more = 1, faces across x, and the halo; rows end with padding.
  subroutine make(u, more)
    real(real64), allocatable, intent(out) :: u(:, :, :)
    integer, intent(in) :: more
    integer :: x, y, z
    allocate (u(1-h:n(1)+more+h+5, 1-h:n(2)+h, 1-h:n(3)+h), source=-1d0)
    do z = 1, n(3)
      do y = 1-h, n(2)+h
        do x = 1-h, n(1)+more+h
          u(x, y, z) = 0.01d0*mod(37*(x+first(1)) + 17*(y+first(2)) + 29*(z+first(3)) + 1000, 101)
        end do
      end do
    end do
  end subroutine

  subroutine faces_of(u, flux)
    real(real64), intent(in) :: u(1-h:, 1-h:, 1-h:)
    real(real64), intent(inout) :: flux(1-h:, 1-h:, 1-h:)
    integer :: x, y, z
    do z = 1, n(3)
      do y = 1, n(2)
        do x = 1, n(1)+1
          flux(x, y, z) = u(x, y, z) - u(x-1, y, z)
        end do
      end do
    end do
  end subroutine

  subroutine sweep(u, flux, v)
    real(real64), intent(in) :: u(1-h:, 1-h:, 1-h:), flux(1-h:, 1-h:, 1-h:)
    real(real64), intent(inout) :: v(1-h:, 1-h:, 1-h:)
    integer :: x, y, z
    do z = 1, n(3)
      do y = 1, n(2)
        do x = 1, n(1)
          v(x, y, z) = u(x, y, z) + 0.05d0*(flux(x+2, y, z) - flux(x-1, y, z)) + 0.02d0*(u(x, y-2, z) &
            + u(x, y+2, z) + u(x, y, z-2) + u(x, y, z+2) - 4*u(x, y, z))
        end do
      end do
    end do
  end subroutine

  ! The halo by hand, axis after axis, so that edges and corners come along.
  subroutine exchange_by_hand(u, more)
    real(real64), intent(inout) :: u(1-h:, 1-h:, 1-h:)
    integer, intent(in) :: more
    integer :: nx, ny, nz
    nx = n(1)
    ny = n(2)
    nz = n(3)
    call swap(0, u(1+more:h+more, :, :), u(nx+more+1:nx+more+h, :, :), u(nx-h+1:nx, :, :), u(1-h:0, :, :))
    call swap(1, u(:, 1:h, :), u(:, ny+1:ny+h, :), u(:, ny-h+1:ny, :), u(:, 1-h:0, :))
    call swap(2, u(:, :, 1:h), u(:, :, nz+1:nz+h), u(:, :, nz-h+1:nz), u(:, :, 1-h:0))
  end subroutine

  subroutine swap(axis, down, from_above, up, from_below)
    integer, intent(in) :: axis
    real(real64), intent(in) :: down(:, :, :), up(:, :, :)
    real(real64), intent(inout) :: from_above(:, :, :), from_below(:, :, :)
    real(real64), dimension(size(up, 1), size(up, 2), size(up, 3)) :: sent, received
    integer :: lower, upper
    call MPI_Cart_shift(cart, axis, 1, lower, upper, error)
    sent = down
    received = from_above
    call MPI_Sendrecv(sent, size(sent), MPI_DOUBLE_PRECISION, lower, 0, received, size(received), &
                      MPI_DOUBLE_PRECISION, upper, 0, cart, MPI_STATUS_IGNORE, error)
    from_above = received
    sent = up
    received = from_below
    call MPI_Sendrecv(sent, size(sent), MPI_DOUBLE_PRECISION, upper, 1, received, size(received), &
                      MPI_DOUBLE_PRECISION, lower, 1, cart, MPI_STATUS_IGNORE, error)
    from_below = received
  end subroutine

  subroutine solve_by_hand(result)
    real(real64), allocatable, intent(out) :: result(:, :, :)
    real(real64), allocatable, target :: a(:, :, :), b(:, :, :), flux(:, :, :)
    real(real64), pointer :: u(:, :, :), v(:, :, :), old(:, :, :)
    integer :: s
    call make(a, 0)
    call make(b, 0)
    call make(flux, 1)
    u => a
    v => b
    do s = 1, sweeps
      call exchange_by_hand(u, 0)
      call faces_of(u, flux)
      call exchange_by_hand(flux, 1)
      call sweep(u, flux, v)
      old => u
      u => v
      v => old
    end do
    result = u(1:n(1), 1:n(2), 1:n(3))
  end subroutine

  subroutine solve_with_halocline(result)
    real(real64), allocatable, intent(out) :: result(:, :, :)
    real(real64), allocatable, target :: a(:, :, :), b(:, :, :), flux(:, :, :)
    real(real64), pointer :: u(:, :, :), v(:, :, :), old(:, :, :)
    type(halocline_grid) :: grid
    type(halocline_field) :: level, faces
    type(halocline_exchange) :: halo, halo_of_flux
    integer :: s, x_first
    call make(a, 0)
    call make(b, 0)
    call make(flux, 1)
    u => a
    v => b

    ! MPI_Cart counts ranks fastest along its last axis, Halocline along x.
    call MPI_Comm_split(cart, 0, place(1) + dims(1)*(place(2) + dims(2)*place(3)), x_first, error)
    call grid%create(x_first, all, periodic=[.false., .false., .true.], process_grid=dims, expected_halo=h)
    call level%wrap(grid, a, halo=h)  ! with halo, more cells are padding
    call faces%wrap(grid, flux, sides=halocline_widths(lower=[h, h, h], upper=[h+1, h, h]))
    call halo%create(grid, level)
    call halo_of_flux%create(grid, faces)

    do s = 1, sweeps
      call halo%run_at([c_loc(u)])  ! the array that u points to now
      call faces_of(u, flux)
      call halo_of_flux%run()
      call sweep(u, flux, v)
      old => u
      u => v
      v => old
    end do
    result = u(1:n(1), 1:n(2), 1:n(3))
    call MPI_Comm_free(x_first, error)
  end subroutine
end program
