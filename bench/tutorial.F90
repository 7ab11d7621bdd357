! SPDX-License-Identifier: Apache-2.0
! laplace as the tutorial's programs do it, for bench/directives: directives and bare MPI, the halo
! and the largest change in one of the ways that they compare. Corrected where those are wrong: the
! norm is read once it is known, one pass per sweep, the timer around the sweeps alone.
!   bench_tutorial_MODEL NX NY SWEEPS whole|rows|aware host|device
! whole: the whole array goes to the host and back around MPI; rows: the rows of the halo alone do;
! aware: MPI gets the GPU's pointers. The last word says where the changes of all ranks are reduced:
! given to MPI in the host's memory or in the GPU's. Prints GLUP/s and the checksum.
program tutorial
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use mpi
#ifdef _OPENACC
  use openacc
#else
  use omp_lib
#endif
  use halocline
  implicit none

  type(halocline_grid) :: grid
  type(halocline_field) :: field
  type(halocline_box) :: owned
  real(real64), allocatable, target :: u(:, :), v(:, :)
  real(real64) :: change(1), begun, ended
  integer(int64) :: cells(2), checksum
  integer :: error, rank, ranks, below, above, nx, ny, sweep, sweeps
  character(8) :: halo, reduce

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  call read_arguments()
  call choose_device()

  call grid%create(MPI_COMM_WORLD, cells, process_grid=[1, ranks])
  owned = grid%owned()
  nx = int(owned%upper(1) - owned%lower(1)) + 1
  ny = int(owned%upper(2) - owned%lower(2)) + 1
  below = merge(rank - 1, MPI_PROC_NULL, rank > 0)
  above = merge(rank + 1, MPI_PROC_NULL, rank < ranks - 1)
  allocate (u(0:nx+1, 0:ny+1), v(0:nx+1, 0:ny+1), source=0._real64)
  call field%wrap(grid, u)
  call field%noise()
  !$acc enter data copyin(u, v, change)
  !$omp target enter data map(to: u, v, change)

  begun = 0
  ! The first two are first uses of everything, and not timed.
  do sweep = 1, sweeps + 2
    if (sweep == 3) begun = MPI_Wtime()
    if (mod(sweep, 2) == 1) then
      call exchange(u)
      call update(u, v)
    else
      call exchange(v)
      call update(v, u)
    end if
    call reduce_change()
  end do
  ended = MPI_Wtime()

  !$acc update self(u, v)
  !$omp target update from(u, v)
  if (mod(sweeps, 2) == 1) u = v
  checksum = field%checksum()
  if (rank == 0) print '(f0.3, 1x, z16.16, 1x, g0)', &
    1e-9_real64*real(cells(1), real64)*real(cells(2), real64)*sweeps/(ended - begun), checksum, change(1)
  call MPI_Finalize(error)

contains

  subroutine read_arguments()
    character(32) :: word
    integer :: numbers(3), i
    do i = 1, 3
      call get_command_argument(i, word)
      read (word, *) numbers(i)
    end do
    cells = numbers(1:2)
    sweeps = numbers(3)
    call get_command_argument(4, halo)
    call get_command_argument(5, reduce)
    if (all(halo /= ['whole', 'rows ', 'aware']) .or. all(reduce /= ['host  ', 'device'])) &
      error stop 'bench_tutorial_MODEL NX NY SWEEPS whole|rows|aware host|device'
  end subroutine

  ! A GPU for each rank of a node, in turn.
  subroutine choose_device()
    integer :: node, place, count
    call MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, node, error)
    call MPI_Comm_rank(node, place, error)
#ifdef _OPENACC
    count = acc_get_num_devices(acc_device_nvidia)
    if (count > 0) call acc_set_device_num(mod(place, count), acc_device_nvidia)
#else
    count = omp_get_num_devices()
    if (count > 0) call omp_set_default_device(mod(place, count))
#endif
  end subroutine

  subroutine exchange(f)
    real(real64), intent(inout) :: f(0:nx+1, 0:ny+1)
    select case (halo)
    case ('whole')
      !$acc update self(f)
      !$omp target update from(f)
      call send_and_receive(f)
      !$acc update device(f)
      !$omp target update to(f)
    case ('rows')
      !$acc update self(f(:, 1:1))
      !$acc update self(f(:, ny:ny))
      !$omp target update from(f(:, 1:1)) from(f(:, ny:ny))
      call send_and_receive(f)
      !$acc update device(f(:, 0:0))
      !$acc update device(f(:, ny+1:ny+1))
      !$omp target update to(f(:, 0:0)) to(f(:, ny+1:ny+1))
    case ('aware')
      !$acc host_data use_device(f)
      !$omp target data use_device_addr(f)
      call send_and_receive(f)
      !$omp end target data
      !$acc end host_data
    end select
  end subroutine

  subroutine send_and_receive(f)
    real(real64), intent(inout) :: f(0:nx+1, 0:ny+1)
    call MPI_Sendrecv(f(1, 1), nx, MPI_DOUBLE_PRECISION, below, 0, f(1, ny+1), nx, MPI_DOUBLE_PRECISION, above, 0, &
                      MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
    call MPI_Sendrecv(f(1, ny), nx, MPI_DOUBLE_PRECISION, above, 1, f(1, 0), nx, MPI_DOUBLE_PRECISION, below, 1, &
                      MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
  end subroutine

  subroutine update(from, to)
    real(real64), intent(in) :: from(0:nx+1, 0:ny+1)
    real(real64), intent(inout) :: to(0:nx+1, 0:ny+1)
    real(real64) :: value, largest
    integer :: x, y
    largest = 0
    !$acc parallel loop gang present(from, to) reduction(max: largest)
    !$omp target teams distribute parallel do schedule(static, 1) map(largest) reduction(max: largest)
    do y = 1, ny
      !$acc loop vector private(value) reduction(max: largest)
      !$omp simd private(value) reduction(max: largest)
      do x = 1, nx
        value = 0.25_real64*((from(x-1, y) + from(x+1, y)) + (from(x, y-1) + from(x, y+1)))
        largest = max(largest, abs(value - from(x, y)))
        to(x, y) = value
      end do
    end do
    change = largest
  end subroutine

  ! The largest change of this rank's is on the host: directives leave it there.
  subroutine reduce_change()
    if (reduce == 'host') then
      call all_reduce()
      return
    end if
    !$acc update device(change)
    !$omp target update to(change)
    !$acc host_data use_device(change)
    !$omp target data use_device_addr(change)
    call all_reduce()
    !$omp end target data
    !$acc end host_data
    !$acc update self(change)
    !$omp target update from(change)
  end subroutine

  subroutine all_reduce()
    call MPI_Allreduce(MPI_IN_PLACE, change, 1, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD, error)
  end subroutine
end program
