! SPDX-License-Identifier: Apache-2.0
! halocline_solve from a Fortran program: texts, parameters, arrays of the program, errors.
module progress_of_runs
  use halocline_solver
  implicit none
  type(halocline_progress) :: seen
contains
  subroutine see(progress)
    type(halocline_progress), intent(in) :: progress
    seen = progress
  end subroutine

  logical function stop_if_seen()
    stop_if_seen = seen%sweep > 0
  end function
end module

program fortran_solver_test
  use, intrinsic :: iso_fortran_env, only: error_unit, real32, real64, int64
  use mpi
  use halocline
  use halocline_solver
  use progress_of_runs
  implicit none
  integer :: failures = 0, my_rank, ierror
  character(*), parameter :: decay(11) = [character(30) :: 'axes = 2', 'cells = [4, 4]', &
    '[parameters]', 'rate = 0.5', '[fields.u]', 'initial = 1', 'boundary = "periodic"', '[update]', &
    'u = "u - rate*u"', '[stop]', 'sweeps = 3']
  type(halocline_grid) :: grid

  call mpi_init(ierror)
  call mpi_comm_rank(MPI_COMM_WORLD, my_rank, ierror)
  call grid%create(MPI_COMM_WORLD, [26, 22])
  call arrays_are_start_and_result()
  call texts_and_parameters()
  call programs_see_progress_and_stop_runs()
  call fields_lie_in_bricks()
  call checkpoints_are_read_back()
  call mistakes_have_texts()
  call grid%destroy()
  call mpi_allreduce(MPI_IN_PLACE, failures, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
  call mpi_finalize(ierror)
  if (failures > 0) error stop 1

contains

  subroutine check(holds, what)
    logical, intent(in) :: holds
    character(*), intent(in) :: what
    if (holds) return
    write (error_unit, '(a, i0, 2a)') 'rank ', my_rank, ': not true: ', what
    failures = failures + 1
  end subroutine

  subroutine arrays_are_start_and_result()
    type(halocline_field) :: field
    type(halocline_box) :: here
    type(halocline_result) :: expected, result
    real(real32), allocatable, target :: a(:, :)
    here = grid%owned()
    allocate (a(here%lower(1)-1:here%upper(1)+1, here%lower(2)-1:here%upper(2)+1), source=0.0_real32)
    call field%wrap(grid, a)
    call field%noise(12345)
    call halocline_solve(grid, 'laplace', options=[halocline_option('sweeps', 20), &
                         halocline_option('precision', 'f32'), halocline_option('norm', 'max'), &
                         halocline_option('backend', 'cpu'), halocline_option('threads', 1)], &
                         result=expected)
    call halocline_solve(grid, 'laplace', arrays=[halocline_array('u', field)], &
                         options=[halocline_option('sweeps', 15), &
                         halocline_option('backend', 'cpu'), halocline_option('threads', 1)])
    call halocline_solve(grid, 'laplace', arrays=[halocline_array('u', field, use='both')], &
                         options=[halocline_option('sweeps', 5), halocline_option('norm', 'max'), &
                         halocline_option('backend', 'cpu'), halocline_option('threads', 1)], &
                         result=result)
    call check(expected%sweeps == 20 .and. result%sweeps == 5, 'as many sweeps as asked for')
    call check(result%checksum == expected%checksum, 'two runs of an array are one run')
    call check(result%norm == expected%norm, 'norms are the same')
    call check(field%checksum() == expected%checksum, 'the array has the result')
    call check(abs(a(here%lower(1) - 1, here%lower(2))) <= 0, 'the halo is the program''s')
    call field%destroy()
  end subroutine

  subroutine texts_and_parameters()
    type(halocline_result) :: result
    call halocline_solve(grid, text=decay, options=[halocline_option('backend', 'cpu'), &
                         halocline_option('threads', 1)], result=result)
    call check(result%sweeps == 3, 'the problem says how many sweeps')
    call check(abs(result%sum - 26*22*0.125_real64) <= 0, 'the sum of the text')
    call halocline_solve(grid, text=decay, parameters=[halocline_parameter('rate', 0.75_real64)], &
                         options=[halocline_option('norm', 'max'), &
                         halocline_option('tolerance', 0.1_real64), &
                         halocline_option('sweeps', 100), halocline_option('backend', 'cpu'), &
                         halocline_option('threads', 1)], result=result)
    call check(result%sweeps == 3 .and. result%converged, 'a tolerance stops a run')
    call check(abs(result%norm - 0.046875_real64) <= 0, 'the norm of the last sweep')
  end subroutine

  subroutine programs_see_progress_and_stop_runs()
    type(halocline_result) :: result
    call halocline_solve(grid, text=decay, options=[halocline_option('backend', 'cpu'), &
                         halocline_option('threads', 1), halocline_option('sweeps', 100000000)], &
                         result=result, on_progress=see, stop_request=stop_if_seen)
    call check(seen%sweeps == 100000000 .and. seen%first == 0 .and. seen%saved == -1 .or. my_rank > 0, &
               'how far the run is')
    call check(result%sweeps >= seen%sweep .and. result%sweeps < 100000000, 'the run stopped')
    call check((seen%sweep > 0) .eqv. (my_rank == 0), 'rank 0 saw progress')
    call check((index(result%json, '"stopped_by": "the program"') > 0) .eqv. (my_rank == 0), &
               'rank 0 has the report')
    call check((index(result%report, 'stopped') > 0) .eqv. (my_rank == 0), 'and as a text')
  end subroutine

  subroutine fields_lie_in_bricks()
    type(halocline_result) :: in_rows, in_bricks
    integer :: stat
    character(400) :: errmsg
    call halocline_solve(grid, 'laplace', options=[halocline_option('sweeps', 9), &
                         halocline_option('backend', 'cpu'), halocline_option('threads', 1)], &
                         result=in_rows)
    call halocline_solve(grid, 'laplace', options=[halocline_option('sweeps', 9), &
                         halocline_option('backend', 'cpu'), halocline_option('threads', 1), &
                         halocline_option('layout', 'brick')], result=in_bricks)
    call check(in_bricks%checksum == in_rows%checksum, 'bricks give the same bits')
    call halocline_solve(grid, 'laplace', options=[halocline_option('layout', 'brick:4x4x4')], &
                         stat=stat, errmsg=errmsg)
    call check(stat == HALOCLINE_USAGE .and. index(errmsg, '3 sizes') > 0, 'a brick of other axes')
  end subroutine

  subroutine checkpoints_are_read_back()
    type(halocline_field) :: written, read
    type(halocline_box) :: here
    real(real64), allocatable, target :: a(:, :), b(:, :)
    character(:), allocatable :: text
    integer :: stat, unit
    character(400) :: errmsg
    here = grid%owned()
    allocate (a(here%lower(1)-1:here%upper(1)+1, here%lower(2)-1:here%upper(2)+1), source=0.0_real64)
    allocate (b, source=a)
    call written%wrap(grid, a)
    call read%wrap(grid, b)
    call written%noise(7)
    call halocline_write_checkpoint(grid, [halocline_array('density', written)], 'fortran.vtkhdf', &
                                    text='step 12', spacing=[0.5_real64, 0.5_real64])
    call halocline_read_checkpoint(grid, [halocline_array('density', read)], 'fortran.vtkhdf', text)
    call check(text == 'step 12', 'the program''s text')
    call check(read%checksum() == written%checksum(), 'the values of the file')
    call check(abs(b(here%lower(1) - 1, here%lower(2))) <= 0, 'the halo stays')
    call halocline_read_checkpoint(grid, [halocline_array('pressure', read)], 'fortran.vtkhdf', &
                                   stat=stat, errmsg=errmsg)
    call check(stat == HALOCLINE_USAGE .and. index(errmsg, 'it has: density') > 0, 'another field')
    call mpi_barrier(MPI_COMM_WORLD, ierror)
    if (my_rank == 0) then
      open (newunit=unit, file='fortran.vtkhdf')
      close (unit, status='delete')
    end if
    call written%destroy()
    call read%destroy()
  end subroutine

  subroutine mistakes_have_texts()
    integer :: stat
    character(400) :: errmsg
    call halocline_solve(grid, stat=stat, errmsg=errmsg)
    call check(stat == HALOCLINE_USAGE .and. index(errmsg, 'no problem') > 0, 'no problem')
    call halocline_solve(grid, 'mine', text=[character(12) :: 'axes = 2', 'colour = 1'], stat=stat, &
                         errmsg=errmsg)
    call check(stat == HALOCLINE_USAGE .and. index(errmsg, 'mine:2') > 0, 'line of a mistake')
    call halocline_solve(grid, 'laplace', options=[halocline_option('backend', 'abacus')], &
                         stat=stat, errmsg=errmsg)
    call check(stat == HALOCLINE_USAGE .and. index(errmsg, 'abacus') > 0, 'unknown backend')
  end subroutine

end program
