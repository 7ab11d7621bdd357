! SPDX-License-Identifier: Apache-2.0
! Without stat an error stops the program with its text. "copy" tries to copy a grid, anything else
! to make one of no communicator.
program stops_fortran
  use mpi
  use halocline
  implicit none
  type(halocline_grid) :: grid, copy
  character(8) :: what
  integer :: error
  call get_command_argument(1, what)
  call MPI_Init(error)
  if (what == 'copy') then
    call grid%create(MPI_COMM_WORLD, [8, 8])
    copy = grid
  else
    call grid%create(MPI_COMM_NULL, [8, 8])
  end if
  print '(a)', 'went on'
  call MPI_Finalize(error)
end program
