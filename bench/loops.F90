! SPDX-License-Identifier: Apache-2.0
! Which loops GCC maps well to a GPU: one sweep of laplace with its largest change, shape by shape, and
! what a launch costs before any work. One GPU, or the host.
!   bench_loops_MODEL N
! Prints GLUP/s at N x N cells, microseconds, and the largest change of the last sweep, the same for
! all shapes.
module shapes
  use, intrinsic :: iso_fortran_env, only: int64, real64
  implicit none
  integer, parameter :: repeats = 20

contains

  subroutine time(name, shape, n, u, v)
    character(*), intent(in) :: name
    integer, intent(in) :: n
    real(real64), intent(inout) :: u(0:n+1, 0:n+1), v(0:n+1, 0:n+1)
    interface
      subroutine shape(n, u, v, largest)
        import :: real64
        integer, intent(in) :: n
        real(real64), intent(in) :: u(0:n+1, 0:n+1)
        real(real64), intent(inout) :: v(0:n+1, 0:n+1), largest
      end subroutine
    end interface
    real(real64) :: change
    integer(int64) :: begun, ended, rate
    real(real64) :: seconds
    integer :: i
    call shape(n, u, v, change)
    call system_clock(begun, rate)
    do i = 1, repeats
      call shape(n, u, v, change)
    end do
    call system_clock(ended)
    seconds = real(ended - begun, real64)/real(rate, real64)/repeats
    if (name(:7) == 'nothing') then
      print '(a46, 10x, f11.1, " us")', name, 1e6_real64*seconds
    else
      print '(a46, f10.2, f11.1, " us", f16.12)', &
        name, real(n, real64)**2/seconds*1e-9_real64, 1e6_real64*seconds, change
    end if
  end subroutine

! The body of all shapes.
#define CELL value = 0.25_real64*((u(x-1, y) + u(x+1, y)) + (u(x, y-1) + u(x, y+1))); \
  largest = max(largest, abs(value - u(x, y))); v(x, y) = value

#ifdef _OPENACC
  subroutine nothing(n, u, v, largest)
    integer, intent(in) :: n
    real(real64), intent(in) :: u(0:n+1, 0:n+1)
    real(real64), intent(inout) :: v(0:n+1, 0:n+1), largest
    integer :: i
    !$acc parallel
    i = 1
    !$acc end parallel
  end subroutine

  subroutine gang_vector(n, u, v, largest)
    integer, intent(in) :: n
    real(real64), intent(in) :: u(0:n+1, 0:n+1)
    real(real64), intent(inout) :: v(0:n+1, 0:n+1), largest
    real(real64) :: value
    integer :: x, y
    largest = 0
    !$acc parallel loop gang present(u, v) reduction(max: largest)
    do y = 1, n
      !$acc loop vector private(value) reduction(max: largest)
      do x = 1, n
        CELL
      end do
    end do
  end subroutine

  subroutine gang_worker_vector(n, u, v, largest)
    integer, intent(in) :: n
    real(real64), intent(in) :: u(0:n+1, 0:n+1)
    real(real64), intent(inout) :: v(0:n+1, 0:n+1), largest
    real(real64) :: value
    integer :: x, y
    largest = 0
    !$acc parallel loop gang worker present(u, v) reduction(max: largest)
    do y = 1, n
      !$acc loop vector private(value) reduction(max: largest)
      do x = 1, n
        CELL
      end do
    end do
  end subroutine

  subroutine gang_vector_collapse(n, u, v, largest)
    integer, intent(in) :: n
    real(real64), intent(in) :: u(0:n+1, 0:n+1)
    real(real64), intent(inout) :: v(0:n+1, 0:n+1), largest
    real(real64) :: value
    integer :: x, y
    largest = 0
    !$acc parallel loop gang vector collapse(2) present(u, v) private(value) reduction(max: largest)
    do y = 1, n
      do x = 1, n
        CELL
      end do
    end do
  end subroutine
#else
  subroutine nothing(n, u, v, largest)
    integer, intent(in) :: n
    real(real64), intent(in) :: u(0:n+1, 0:n+1)
    real(real64), intent(inout) :: v(0:n+1, 0:n+1), largest
    integer :: i
    !$omp target
    i = 1
    !$omp end target
  end subroutine

  subroutine nothing_in_teams(n, u, v, largest)
    integer, intent(in) :: n
    real(real64), intent(in) :: u(0:n+1, 0:n+1)
    real(real64), intent(inout) :: v(0:n+1, 0:n+1), largest
    integer :: i
    !$omp target teams num_teams(132) private(i)
    i = 1
    !$omp end target teams
  end subroutine

  subroutine nothing_in_parallel(n, u, v, largest)
    integer, intent(in) :: n
    real(real64), intent(in) :: u(0:n+1, 0:n+1)
    real(real64), intent(inout) :: v(0:n+1, 0:n+1), largest
    integer :: i
    !$omp target teams distribute parallel do num_teams(132)
    do i = 1, n
      v(i, 0) = 0
    end do
  end subroutine

  subroutine rows_of_warps(n, u, v, largest)
    integer, intent(in) :: n
    real(real64), intent(in) :: u(0:n+1, 0:n+1)
    real(real64), intent(inout) :: v(0:n+1, 0:n+1), largest
    real(real64) :: value
    integer :: x, y
    largest = 0
    !$omp target teams distribute parallel do map(largest) reduction(max: largest)
    do y = 1, n
      !$omp simd private(value) reduction(max: largest)
      do x = 1, n
        CELL
      end do
    end do
  end subroutine

  subroutine rows_of_warps_in_turn(n, u, v, largest)
    integer, intent(in) :: n
    real(real64), intent(in) :: u(0:n+1, 0:n+1)
    real(real64), intent(inout) :: v(0:n+1, 0:n+1), largest
    real(real64) :: value
    integer :: x, y
    largest = 0
    !$omp target teams distribute parallel do schedule(static, 1) map(largest) reduction(max: largest)
    do y = 1, n
      !$omp simd private(value) reduction(max: largest)
      do x = 1, n
        CELL
      end do
    end do
  end subroutine

  subroutine rows_of_teams(n, u, v, largest)
    integer, intent(in) :: n
    real(real64), intent(in) :: u(0:n+1, 0:n+1)
    real(real64), intent(inout) :: v(0:n+1, 0:n+1), largest
    real(real64) :: value
    integer :: x, y
    largest = 0
    !$omp target teams distribute map(largest) reduction(max: largest)
    do y = 1, n
      !$omp parallel do simd private(value) reduction(max: largest)
      do x = 1, n
        CELL
      end do
    end do
  end subroutine

  subroutine rows_of_single_warps(n, u, v, largest)
    integer, intent(in) :: n
    real(real64), intent(in) :: u(0:n+1, 0:n+1)
    real(real64), intent(inout) :: v(0:n+1, 0:n+1), largest
    real(real64) :: value
    integer :: x, y
    largest = 0
    !$omp target teams distribute thread_limit(1) map(largest) reduction(max: largest)
    do y = 1, n
      !$omp simd private(value) reduction(max: largest)
      do x = 1, n
        CELL
      end do
    end do
  end subroutine

  subroutine collapsed(n, u, v, largest)
    integer, intent(in) :: n
    real(real64), intent(in) :: u(0:n+1, 0:n+1)
    real(real64), intent(inout) :: v(0:n+1, 0:n+1), largest
    real(real64) :: value
    integer :: x, y
    largest = 0
    !$omp target teams distribute parallel do simd collapse(2) private(value) map(largest) reduction(max: largest)
    do y = 1, n
      do x = 1, n
        CELL
      end do
    end do
  end subroutine
#endif
end module

program loops
  use shapes
  implicit none
  real(real64), allocatable :: u(:, :), v(:, :)
  character(16) :: word
  integer :: n, x, y
  call get_command_argument(1, word)
  read (word, *) n
  allocate (u(0:n+1, 0:n+1), v(0:n+1, 0:n+1), source=0._real64)
  do y = 1, n
    do x = 1, n
      u(x, y) = 1e-3_real64*mod(7919*x + 104729*y, 1000)
    end do
  end do
  !$acc enter data copyin(u, v)
  !$omp target enter data map(to: u, v)
#ifdef _OPENACC
  call time('nothing', nothing, n, u, v)
  call time('gang | vector', gang_vector, n, u, v)
  call time('gang worker | vector', gang_worker_vector, n, u, v)
  call time('gang vector collapse(2)', gang_vector_collapse, n, u, v)
#else
  call time('nothing', nothing, n, u, v)
  call time('nothing, in 132 teams', nothing_in_teams, n, u, v)
  call time('nothing, in parallel in 132 teams', nothing_in_parallel, n, u, v)
  call time('teams distribute parallel do | simd', rows_of_warps, n, u, v)
  call time('same with schedule(static, 1)', rows_of_warps_in_turn, n, u, v)
  call time('teams distribute | parallel do simd', rows_of_teams, n, u, v)
  call time('teams distribute | simd, one warp each', rows_of_single_warps, n, u, v)
  call time('teams distribute parallel do simd collapse(2)', collapsed, n, u, v)
#endif
end program
