! SPDX-License-Identifier: Apache-2.0
! Laplace's equation with OpenACC, a GPU per rank: your own arrays and loops, the halo by Halocline.
! Where there is no GPU, the directives run on the host. The host reads the norm of each sweep, so a
! queue would save nothing, and GCC 12 needs 0.2 ms for a launch on one; laplace_both.F90 has one.
program laplace_openacc
  use, intrinsic :: iso_c_binding, only: c_loc
  use, intrinsic :: iso_fortran_env, only: real64
  use mpi
  use openacc
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
  logical :: on_gpu
  integer :: error, rank, ranks, nx, ny, old, new, sweeps

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  options = read_options(rank)
  started = seconds()
  call choose_device()

  ! Split along y alone: a row of halo has no gaps in memory, and goes as it is.
  call grid%create(MPI_COMM_WORLD, options%cells, process_grid=[1, ranks])
  owned = grid%owned()
  nx = int(owned%upper(1) - owned%lower(1)) + 1
  ny = int(owned%upper(2) - owned%lower(2)) + 1
  allocate (u(0:nx+1, 0:ny+1), v(0:nx+1, 0:ny+1), source=0._real64)
  !$acc enter data copyin(u, v)
  call give(1, u)
  call give(2, v)
  call field(1)%noise()

  first = 0
  begun = seconds()
  sweeps = 0
  new = 1
  do
    old = new
    new = 3 - old
    ! The loops are done here, and the halo is there after this.
    call exchange(old)%run()
    if (old == 1) change = sweep(u, v)
    if (old == 2) change = sweep(v, u)
    change = halocline_norm(grid, 'max', change)
    sweeps = sweeps + 1
    if (sweeps == 1) first = seconds()
    if (change <= options%tolerance .or. sweeps == options%sweeps) exit
  end do
  ended = seconds()

  call halocline_report(field(new), exchange(old), 'laplace', 'openacc', sweeps, ended - first, &
                        norm='max', norm_value=change, tolerance=options%tolerance, &
                        setup_seconds=begun - started, first_sweep_seconds=first - begun, &
                        text=options%text, json=options%json)
  if (rank == 0 .and. .not. on_gpu .and. options%text == '-') &
    print '(/, a)', 'the directives ran on the host'
  call MPI_Finalize(error)

contains

  ! Comes before the first directive: all of them, and Halocline, then use one CUDA context.
  subroutine choose_device()
    type(halocline_gpu) :: gpu
    integer :: status
    call halocline_bind_device(MPI_COMM_WORLD, gpu, status)
    on_gpu = status == HALOCLINE_OK .and. acc_get_num_devices(acc_device_nvidia) > 0
    if (on_gpu) then
      call acc_set_device_num(gpu%ordinal, acc_device_nvidia)
    else
      call acc_set_device_type(acc_device_host)
    end if
  end subroutine

  ! Makes a time level a field, where it lies on the GPU, and plans the exchange of its halo.
  subroutine give(level, array)
    integer, intent(in) :: level
    real(real64), target :: array(0:nx+1, 0:ny+1)
    !$acc host_data use_device(array)
    call field(level)%wrap(grid, c_loc(array), 8, memory=trim(merge('device', 'host  ', on_gpu)))
    !$acc end host_data
    call exchange(level)%create(grid, field(level), neighbours='faces', transport=options%transport)
  end subroutine

  ! Updates every cell once; returns the largest change of this rank's.
  function sweep(from, to) result(change)
    real(real64), intent(in) :: from(0:nx+1, 0:ny+1)
    real(real64), intent(inout) :: to(0:nx+1, 0:ny+1)
    real(real64) :: change, value
    integer :: x, y
    change = 0
    !$acc parallel loop gang present(from, to) reduction(max: change)
    do y = 1, ny
      !$acc loop vector private(value) reduction(max: change)
      do x = 1, nx
        value = 0.25_real64*((from(x-1, y) + from(x+1, y)) + (from(x, y-1) + from(x, y+1)))
        change = max(change, abs(value - from(x, y)))
        to(x, y) = value
      end do
    end do
  end function
end program
