! SPDX-License-Identifier: Apache-2.0
! A heated room in Fortran: your own arrays and your own decisions, the heat equation by Halocline.
program thermostat
  use, intrinsic :: iso_fortran_env, only: real64
  use mpi
  use halocline
  use halocline_solver
  implicit none
  character(*), parameter :: heat(12) = [character(64) :: &
    'axes = 2', &
    'cells = [8, 8]', &  ! those of the grid count
    'precision = "f64"', &
    '[fields.T]', &
    'initial = 15', &
    'boundary = { mixed = { a = 0.01, b = 1, c = 0.05 } }', &  ! walls lose heat; 5 degrees outside
    '[coefficients]', &
    'heater = { value = 0 }', &
    '[update]', &
    'T = "T + 0.2*laplace(T) + heater"', &
    '[stop]', &
    'sweeps = 500']
  type(halocline_grid) :: grid
  type(halocline_box) :: here
  type(halocline_field) :: of_temperature, of_heater
  real(real64), allocatable, target :: temperature(:, :), heater(:, :)
  real(real64) :: mean
  integer :: minute, ierror

  call mpi_init(ierror)
  call grid%create(MPI_COMM_WORLD, [96, 64])
  here = grid%owned()
  ! Arrays without a halo: halocline_solve has its own.
  allocate (temperature(here%lower(1):here%upper(1), here%lower(2):here%upper(2)))
  allocate (heater, mold=temperature)
  temperature = 15
  call of_temperature%wrap(grid, temperature, halo=0)
  call of_heater%wrap(grid, heater, halo=0)

  do minute = 1, 8
    mean = of_temperature%sum()/(96*64)
    if (grid%rank() == 0) &
      print '(a, i0, a, f5.2, 2a)', 'minute ', minute, ': ', mean, ' degrees, heater ', &
        trim(merge('on ', 'off', mean < 17))
    heater = 0
    if (mean < 17) call heat_below_the_window()
    call halocline_solve(grid, text=heat, arrays=[halocline_array('T', of_temperature), &
                                                  halocline_array('heater', of_heater, 'start')])
  end do
  call of_temperature%destroy()
  call of_heater%destroy()
  call grid%destroy()
  call mpi_finalize(ierror)

contains

  ! In the lowest rows.
  subroutine heat_below_the_window()
    integer :: x, y
    do y = lbound(heater, 2), min(4, ubound(heater, 2))
      do x = max(33, lbound(heater, 1)), min(64, ubound(heater, 1))
        heater(x, y) = 0.2_real64
      end do
    end do
  end subroutine

end program
