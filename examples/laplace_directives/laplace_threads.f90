! SPDX-License-Identifier: Apache-2.0
! Laplace's equation with MPI and OpenMP's threads: your own arrays and loops, the halo by Halocline.
program laplace_threads
  use, intrinsic :: iso_fortran_env, only: real64
  use mpi
  use omp_lib
  use halocline
  use laplace_options
  implicit none

  type(options_type) :: options
  type(halocline_grid) :: grid
  type(halocline_field) :: field(2)
  type(halocline_exchange) :: exchange(2)
  type(halocline_box) :: owned
  real(real64), allocatable, target :: u(:, :), v(:, :)  ! two time levels, a halo of one cell
  real(real64) :: change, started, begun, first, ended
  integer :: error, rank, ranks, nx, ny, old, new, sweeps

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  options = read_options(rank)
  started = seconds()

  ! Split along y alone: a row of halo has no gaps in memory, and goes as it is.
  call grid%create(MPI_COMM_WORLD, options%cells, process_grid=[1, ranks])
  owned = grid%owned()
  nx = int(owned%upper(1) - owned%lower(1)) + 1
  ny = int(owned%upper(2) - owned%lower(2)) + 1
  allocate (u(0:nx+1, 0:ny+1), v(0:nx+1, 0:ny+1), source=0._real64)
  call field(1)%wrap(grid, u)
  call field(2)%wrap(grid, v)
  call exchange(1)%create(grid, field(1), neighbours='faces', transport=options%transport)
  call exchange(2)%create(grid, field(2), neighbours='faces', transport=options%transport)
  call field(1)%noise()

  first = 0
  begun = seconds()
  sweeps = 0
  new = 1
  do
    old = new
    new = 3 - old
    call exchange(old)%run()
    if (old == 1) change = sweep(u, v)
    if (old == 2) change = sweep(v, u)
    change = halocline_norm(grid, 'max', change)
    sweeps = sweeps + 1
    if (sweeps == 1) first = seconds()
    if (change <= options%tolerance .or. sweeps == options%sweeps) exit
  end do
  ended = seconds()

  call halocline_report(field(new), exchange(old), 'laplace', 'openmp threads', sweeps, ended - first, &
                        threads=omp_get_max_threads(), norm='max', norm_value=change, tolerance=options%tolerance, &
                        setup_seconds=begun - started, first_sweep_seconds=first - begun, &
                        text=options%text, json=options%json)
  call MPI_Finalize(error)

contains

  ! Updates every cell once; returns the largest change of this rank's.
  function sweep(from, to) result(change)
    real(real64), intent(in) :: from(0:nx+1, 0:ny+1)
    real(real64), intent(inout) :: to(0:nx+1, 0:ny+1)
    real(real64) :: change, value
    integer :: x, y
    change = 0
    !$omp parallel do private(value) reduction(max: change)
    do y = 1, ny
      do x = 1, nx
        value = 0.25_real64*((from(x-1, y) + from(x+1, y)) + (from(x, y-1) + from(x, y+1)))
        change = max(change, abs(value - from(x, y)))
        to(x, y) = value
      end do
    end do
  end function
end program
