! SPDX-License-Identifier: Apache-2.0
! Laplace's equation in Fortran: your own arrays and loops, the halo by Halocline.
program fortran_laplace
  use mpi
  use halocline
  implicit none
  type(halocline_grid) :: grid
  type(halocline_field) :: field(2)
  type(halocline_exchange) :: halo(2)
  type(halocline_box) :: here
  double precision, allocatable, target :: u(:, :, :)  ! two time levels, a halo of one cell
  integer(8) :: x, y, checksum
  integer :: error, t, s, old, new
  integer, parameter :: sweeps = 199

  call MPI_Init(error)
  call grid%create(MPI_COMM_WORLD, [256, 256])
  here = grid%owned()
  allocate (u(here%lower(1)-1:here%upper(1)+1, here%lower(2)-1:here%upper(2)+1, 2), source=0d0)
  do t = 1, 2
    call field(t)%wrap(grid, u(:, :, t))
    call halo(t)%create(grid, field(t))
  end do
  call field(1)%noise()
  do s = 1, sweeps
    new = 1 + mod(s, 2)
    old = 3 - new
    call halo(old)%run()
    do y = here%lower(2), here%upper(2)
      do x = here%lower(1), here%upper(1)
        u(x, y, new) = 0.25d0*((u(x-1, y, old) + u(x+1, y, old)) + (u(x, y-1, old) + u(x, y+1, old)))
      end do
    end do
  end do
  checksum = field(new)%checksum()
  if (grid%rank() == 0) print '(i0, a, z16.16)', sweeps, ' sweeps, checksum ', checksum
  call MPI_Finalize(error)
end program
