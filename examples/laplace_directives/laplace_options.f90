! SPDX-License-Identifier: Apache-2.0
! The common part of the Fortran programs of this folder: options, a clock, the end after an error.
module laplace_options
  use, intrinsic :: iso_fortran_env, only: error_unit, int64, output_unit, real64
  implicit none
  private
  public :: options_type, read_options, seconds

  type :: options_type
    integer(int64) :: cells(2) = 1024
    integer :: sweeps = 526
    real(real64) :: tolerance = 0.05_real64
    character(:), allocatable :: transport, json, text
  end type

contains

  ! Reads the command line, and LAPLACE_TRANSPORT where it has no --transport; ends every rank, with exit code 2, if it cannot be meant.
  function read_options(rank) result(options)
    integer, intent(in) :: rank
    type(options_type) :: options
    character(:), allocatable :: name, value
    integer :: i, cross, status
    options%transport = variable('LAPLACE_TRANSPORT', 'auto')
    options%text = '-'
    options%json = ''
    i = 1
    do while (i <= command_argument_count())
      name = argument(i)
      value = ''
      if (i < command_argument_count()) value = argument(i + 1)
      status = 0
      select case (name)
      case ('--cells')
        cross = index(value, 'x')
        read (value(:cross-1), *, iostat=status) options%cells(1)
        if (status == 0) read (value(cross+1:), *, iostat=status) options%cells(2)
      case ('--sweeps')
        read (value, *, iostat=status) options%sweeps
      case ('--tolerance')
        read (value, *, iostat=status) options%tolerance
      case ('--transport')
        options%transport = value
      case ('--json')
        options%json = value
        if (value == '-') options%text = ''
      case default
        call end_with(rank, 'unknown option '//name)
      end select
      if (len(value) == 0 .or. status /= 0) call end_with(rank, name//" cannot be '"//value//"'")
      i = i + 2
    end do
    if (any(options%cells < 1)) call end_with(rank, '--cells needs at least 1x1')
    if (options%sweeps < 1) call end_with(rank, '--sweeps needs at least 1')
  end function

  subroutine end_with(rank, what)
    integer, intent(in) :: rank
    character(*), intent(in) :: what
    if (rank == 0) then
      write (error_unit, '(a)') what
      write (error_unit, '(a)') 'options: --cells NXxNY --sweeps N --tolerance T --transport NAME --json FILE'
      flush (error_unit)
    end if
    stop 2, quiet=.true.
  end subroutine

  function argument(i) result(text)
    integer, intent(in) :: i
    character(:), allocatable :: text
    integer :: length
    call get_command_argument(i, length=length)
    allocate (character(length) :: text)
    call get_command_argument(i, text)
  end function

  ! A variable of the environment, or `otherwise` where it is not set.
  function variable(name, otherwise) result(value)
    character(*), intent(in) :: name, otherwise
    character(:), allocatable :: value
    integer :: length, status
    call get_environment_variable(name, length=length, status=status)
    if (status /= 0 .or. length == 0) then
      value = otherwise
      return
    end if
    allocate (character(length) :: value)
    call get_environment_variable(name, value)
  end function

  ! The time on a clock that only goes forward, in seconds.
  real(real64) function seconds()
    integer(int64) :: ticks, rate
    call system_clock(ticks, rate)
    seconds = real(ticks, real64)/real(rate, real64)
  end function
end module
