! SPDX-License-Identifier: Apache-2.0
! The Fortran binding: halos by formula, arrays as they are, optional stat and errmsg, both kinds of
! communicator.
module binding_test
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: error_unit, real32, real64, int64
  use mpi
  use halocline
  implicit none
  integer :: failures = 0, my_rank, all_ranks
  real(real64), parameter :: poison = -7

contains

  subroutine check(holds, what)
    logical, intent(in) :: holds
    character(*), intent(in) :: what
    if (holds) return
    write (error_unit, '(a, i0, 2a)') 'rank ', my_rank, ': not true: ', what
    failures = failures + 1
  end subroutine

  ! Names a cell; coordinates along periodic axes are folded into the domain.
  real(real64) function value_at(cells, x, y, z)
    integer, intent(in) :: cells(3)
    integer(int64), intent(in) :: x, y, z
    value_at = real(modulo(x - 1, int(cells(1), int64)) + 1000*(modulo(y - 1, int(cells(2), int64)) &
                    + 1000*modulo(z - 1, int(cells(3), int64))), real64)
  end function

  ! Global lower bounds, halo of 2 and 1, all periodic, corners too.
  subroutine fills_an_array_with_its_own_bounds()
    type(halocline_grid) :: grid
    type(halocline_field) :: field
    type(halocline_exchange) :: exchange
    type(halocline_box) :: here
    integer, parameter :: cells(3) = [13, 11, 8]
    real(real64), allocatable, target :: u(:, :, :)
    integer(int64) :: x, y, z
    integer :: step, wrong
    call grid%create(MPI_COMM_WORLD, cells, periodic=[.true., .true., .true.], expected_halo=2)
    here = grid%owned()
    allocate (u(here%lower(1)-2:here%upper(1)+2, here%lower(2)-2:here%upper(2)+2, &
                here%lower(3)-2:here%upper(3)+2))
    call field%wrap(grid, u, halo=2, name='u')
    call exchange%create(grid, field)
    do step = 1, 3
      u = poison
      do z = here%lower(3), here%upper(3)
        do y = here%lower(2), here%upper(2)
          do x = here%lower(1), here%upper(1)
            u(x, y, z) = value_at(cells, x, y, z)
          end do
        end do
      end do
      call exchange%start()
      if (exchange%progress()) continue
      call exchange%finish()
      wrong = 0
      do z = lbound(u, 3), ubound(u, 3)
        do y = lbound(u, 2), ubound(u, 2)
          do x = lbound(u, 1), ubound(u, 1)
            if (u(x, y, z) /= value_at(cells, x, y, z)) wrong = wrong + 1
          end do
        end do
      end do
      call check(wrong == 0, 'every halo cell has its value')
    end do
    call check(index(exchange%transports(), '=') > 0, 'transports are told')
    call check(exchange%messages() > 0 .eqv. all_ranks > 1, 'messages are told')
    ! The objects end with this procedure.
  end subroutine

  ! Two fields of different kinds in one exchange, one a section of a larger array with stride 2.
  subroutine fills_sections_of_two_kinds()
    type(halocline_grid) :: grid
    type(halocline_field) :: fields(2)
    type(halocline_exchange) :: exchange
    type(halocline_box) :: here
    integer, parameter :: cells(3) = [16, 12, 1]
    real(real64), allocatable, target :: large(:, :)
    real(real32), allocatable, target :: small(:, :)
    integer(int64) :: x, y, nx, ny
    integer :: wrong
    logical :: inside
    call grid%create(MPI_COMM_WORLD, [16_int64, 12_int64], periodic=[.true., .false.])
    here = grid%owned()
    nx = here%upper(1) - here%lower(1) + 1
    ny = here%upper(2) - here%lower(2) + 1
    allocate (large(2*(nx + 2), ny + 5), source=poison)
    allocate (small(0:nx + 1, 0:ny + 1), source=real(poison, real32))
    call fields(1)%wrap(grid, large(1::2, 3:ny + 4), name='section')
    call fields(2)%wrap(grid, small, name='small')
    call exchange%create(grid, fields, neighbours='faces')
    do y = 1, ny
      do x = 1, nx
        large(2*x + 1, y + 3) = value_at(cells, here%lower(1) + x - 1, here%lower(2) + y - 1, 1_int64)
        small(x, y) = real(large(2*x + 1, y + 3), real32)
      end do
    end do
    call exchange%run()
    wrong = 0
    do y = 1, ny
      do x = 0, nx + 1
        if (large(2*x + 1, y + 3) /= value_at(cells, here%lower(1) + x - 1, here%lower(2) + y - 1, &
                                              1_int64)) wrong = wrong + 1
        if (small(x, y) /= real(large(2*x + 1, y + 3), real32)) wrong = wrong + 1
      end do
    end do
    do x = 0, nx + 1
      inside = here%lower(2) > 1 .and. x >= 1 .and. x <= nx
      if (.not. inside .and. large(2*x + 1, 3) /= poison) wrong = wrong + 1
    end do
    call check(wrong == 0, 'sections are filled, edges left alone')
    call check(all(large(2::2, :) == poison) .and. all(large(:, :2) == poison), &
               'what lies between is untouched')
  end subroutine

  ! By address, as a device array comes; and a field that Halocline allocates.
  subroutine takes_addresses()
    type(halocline_grid) :: grid
    type(halocline_field) :: field, own
    type(halocline_exchange) :: exchange
    type(halocline_box) :: here, inner
    type(halocline_box), allocatable :: rest(:)
    real(real64), allocatable, target :: u(:), v(:)
    integer(int64) :: nx, covered
    integer :: i
    call grid%create(MPI_COMM_WORLD, [40], periodic=[.true.], process_grid=[all_ranks])
    here = grid%owned()
    nx = here%upper(1) - here%lower(1) + 1
    allocate (u(0:nx + 1), source=poison)
    u(1:nx) = [(real(here%lower(1) + i, real64), i=0, int(nx) - 1)]
    call field%wrap(grid, c_loc(u), 8, name='u')
    call exchange%create(grid, field)
    call exchange%run(stream=HALOCLINE_HOST_STREAM)
    call check(u(0) == merge(40_int64, here%lower(1) - 1, here%lower(1) == 1), 'the lower halo')
    call check(u(nx + 1) == merge(1_int64, here%upper(1) + 1, here%upper(1) == 40), 'the upper halo')
    allocate (v(0:nx + 1), source=poison)
    v(1:nx) = u(1:nx)
    call exchange%run_at([c_loc(v)])
    call check(all(v == u), 'another array by the same plan')
    v([0_int64, nx + 1]) = poison
    call exchange%start_at([c_loc(v)], HALOCLINE_HOST_STREAM)
    call exchange%finish()
    call check(all(v == u), 'another array in two steps')

    inner = grid%interior()
    rest = grid%boundary()
    covered = max(0_int64, inner%upper(1) - inner%lower(1) + 1)
    do i = 1, size(rest)
      covered = covered + rest(i)%upper(1) - rest(i)%lower(1) + 1
    end do
    call check(covered == nx, 'interior and boundary are the owned cells')
    call check(grid%neighbour([1]) == modulo(grid%rank() + 1, grid%ranks()), 'the upper neighbour')

    call own%create(grid, 8)
    call own%noise()
    call check(c_associated(own%address()) .and. all(own%strides() >= [1, 0, 0]), 'an own field')
    call field%noise()
    call check(own%checksum() == field%checksum(), 'checksums are equal')
    call check(own%sum() == field%sum(), 'sums are equal')
    call check(halocline_norm(grid, 'max', real(my_rank, real64)) == all_ranks - 1, 'a max norm')
  end subroutine

  ! Halo, exchange and reach with widths of their own on each side.
  subroutine takes_widths_of_each_side()
    type(halocline_grid) :: grid
    type(halocline_field) :: field, own
    type(halocline_exchange) :: exchange
    type(halocline_box) :: here, inner
    type(halocline_box), allocatable :: rest(:)
    type(halocline_widths), parameter :: halo = halocline_widths(lower=[2, 1, 0], upper=[0, 3, 0])
    type(halocline_widths), parameter :: filled = halocline_widths(lower=[1, 1, 0], upper=[0, 2, 0])
    integer, parameter :: cells(3) = [12, 24, 1]
    real(real64), allocatable, target :: u(:, :)
    real(real64) :: expected
    integer(int64) :: x, y, covered
    integer :: i, wrong
    logical :: inside
    call grid%create(MPI_COMM_WORLD, cells(:2), periodic=[.true., .true.])
    here = grid%owned()
    allocate (u(here%lower(1)-2:here%upper(1), here%lower(2)-1:here%upper(2)+3), source=poison)
    call field%wrap(grid, u, name='u', sides=halo)
    call exchange%create(grid, field, sides=filled)
    do y = here%lower(2), here%upper(2)
      do x = here%lower(1), here%upper(1)
        u(x, y) = value_at(cells, x, y, 1_int64)
      end do
    end do
    call exchange%run()
    wrong = 0
    do y = lbound(u, 2), ubound(u, 2)
      do x = lbound(u, 1), ubound(u, 1)
        inside = x >= here%lower(1) - 1 .and. y <= here%upper(2) + 2
        expected = merge(value_at(cells, x, y, 1_int64), poison, inside)
        if (u(x, y) /= expected) wrong = wrong + 1
      end do
    end do
    call check(wrong == 0, 'as many halo cells are filled as each side says')
    call own%create(grid, 8, sides=halo)
    call check(all(own%strides() >= [1_int64, 1_int64, 0_int64]), 'a field with sides is created')

    inner = grid%interior(sides=filled)
    rest = grid%boundary(sides=filled)
    covered = cells_of(inner)
    do i = 1, size(rest)
      covered = covered + cells_of(rest(i))
    end do
    call check(covered == cells_of(here), 'interior and boundary are the owned cells, with sides too')
    call check(inner%upper(1) == here%upper(1), 'no reach, no boundary')
    if (all_ranks > 1) call check(inner%lower(2) > here%lower(2) .or. inner%lower(1) > here%lower(1), &
                                  'a reach, a boundary')
  end subroutine

  ! Several components per cell: as the first axis of an array, as its last and in between; on grids
  ! of one axis and of three.
  subroutine takes_arrays_of_several_components()
    type(halocline_grid) :: grid
    type(halocline_field) :: fields(3)
    type(halocline_exchange) :: exchange
    type(halocline_box) :: here
    integer, parameter :: cells(3) = [6, 5, 12]
    real(real64), allocatable, target :: first(:, :, :, :), last(:, :, :, :), line(:, :)
    real(real32), allocatable, target :: between(:, :, :, :)
    real(real64) :: expected
    integer(int64) :: x, y, z
    integer :: c, wrong
    call grid%create(MPI_COMM_WORLD, cells, periodic=[.true., .true., .true.])
    here = grid%owned()
    associate (lx => here%lower(1) - 1, ux => here%upper(1) + 1, ly => here%lower(2) - 1, &
               uy => here%upper(2) + 1, lz => here%lower(3) - 1, uz => here%upper(3) + 1)
      allocate (first(5, lx:ux, ly:uy, lz:uz), last(lx:ux, ly:uy, lz:uz, 2), source=poison)
      allocate (between(lx:ux, 3, ly:uy, lz:uz), source=real(poison, real32))
    end associate
    call fields(1)%wrap(grid, first, name='first', component_axis=1)
    call fields(2)%wrap(grid, last, name='last', component_axis=4)
    call fields(3)%wrap(grid, between, name='between', component_axis=2)
    do z = here%lower(3), here%upper(3)
      do y = here%lower(2), here%upper(2)
        do x = here%lower(1), here%upper(1)
          first(:, x, y, z) = [(value_at(cells, x, y, z) + 0.125*c, c=1, 5)]
          last(x, y, z, :) = first(:2, x, y, z)
          between(x, :, y, z) = mod(int(value_at(cells, x, y, z)), 1000) + [1, 2, 3]
        end do
      end do
    end do
    call exchange%create(grid, fields)
    call exchange%run()
    wrong = 0
    do z = lbound(last, 3), ubound(last, 3)
      do y = lbound(last, 2), ubound(last, 2)
        do x = lbound(last, 1), ubound(last, 1)
          do c = 1, 5
            expected = value_at(cells, x, y, z) + 0.125*c
            if (first(c, x, y, z) /= expected) wrong = wrong + 1
            if (c <= 2) then
              if (last(x, y, z, c) /= expected) wrong = wrong + 1
            end if
            if (c <= 3) then
              if (between(x, c, y, z) /= real(mod(int(value_at(cells, x, y, z)), 1000) + c, real32)) &
                wrong = wrong + 1
            end if
          end do
        end do
      end do
    end do
    call check(wrong == 0, 'every component of every halo cell has its value')
    call exchange%destroy()
    call grid%create(MPI_COMM_WORLD, [32], periodic=[.true.])
    here = grid%owned()
    allocate (line(2, here%lower(1)-1:here%upper(1)+1), source=poison)
    do x = here%lower(1), here%upper(1)
      line(:, x) = [real(x, real64), real(-x, real64)]
    end do
    call fields(1)%wrap(grid, line, component_axis=1)
    call exchange%create(grid, fields(1))
    call exchange%run()
    x = here%lower(1) - 1
    call check(all(line(:, x) == real(merge(32_int64, x, x == 0)*[1, -1], real64)), 'a line of pairs')
  end subroutine

  ! The automatic process grid has room for halos that differ between axes and sides.
  subroutine splits_for_the_expected_sides()
    type(halocline_grid) :: grid
    type(halocline_field) :: field
    type(halocline_exchange) :: exchange
    type(halocline_widths), parameter :: halo = halocline_widths(lower=[0, 0, 0], upper=[0, 0, 9])
    integer :: parts(3), stat
    character(500) :: text
    call grid%create(MPI_COMM_WORLD, [16, 16, 18])
    parts = grid%process_grid()
    call check(parts(3) == all_ranks, 'planes without expected_sides')
    call field%create(grid, 8, sides=halo)
    if (all_ranks > 2) then
      call exchange%create(grid, field, stat=stat, errmsg=text)
      call check(stat == HALOCLINE_USAGE .and. index(text, 'expected_halo') > 0, 'a halo too wide')
    end if
    call grid%create(MPI_COMM_WORLD, [16, 16, 18], expected_sides=halo)
    call field%create(grid, 8, sides=halo)
    call exchange%create(grid, field, stat=stat, errmsg=text)
    call check(stat == HALOCLINE_OK, 'room for expected_sides')
  end subroutine

  ! Fields and sweeps have the halo that the grid expects; an array with more is not taken for one
  ! with padding.
  subroutine takes_the_halo_that_the_grid_expects()
    type(halocline_grid) :: grid
    type(halocline_field) :: field
    type(halocline_exchange) :: exchange
    type(halocline_box) :: here, inner, wanted
    integer, parameter :: cells(3) = [12, 24, 1]
    real(real64), allocatable, target :: u(:, :)
    integer(int64) :: x, y
    integer :: wrong, stat
    character(500) :: text
    call grid%create(MPI_COMM_WORLD, cells(:2), periodic=[.true., .true.], expected_halo=2)
    here = grid%owned()
    allocate (u(here%lower(1)-2:here%upper(1)+2, here%lower(2)-2:here%upper(2)+2), source=poison)
    call field%wrap(grid, u)
    call exchange%create(grid, field)
    do y = here%lower(2), here%upper(2)
      do x = here%lower(1), here%upper(1)
        u(x, y) = value_at(cells, x, y, 1_int64)
      end do
    end do
    call exchange%run()
    wrong = 0
    do y = lbound(u, 2), ubound(u, 2)
      do x = lbound(u, 1), ubound(u, 1)
        if (u(x, y) /= value_at(cells, x, y, 1_int64)) wrong = wrong + 1
      end do
    end do
    call check(wrong == 0, 'the halo that the grid expects is filled')
    inner = grid%interior()
    wanted = grid%interior(reach=2)
    call check(all(inner%lower == wanted%lower) .and. all(inner%upper == wanted%upper), &
               'the reach that the grid expects')
    call check(size(grid%boundary()) == size(grid%boundary(reach=2)), 'its boundary')
    call exchange%destroy()

    call grid%create(MPI_COMM_WORLD, cells(:2))
    here = grid%owned()
    deallocate (u)
    allocate (u(here%lower(1)-2:here%upper(1)+2, here%lower(2)-2:here%upper(2)+2))
    call field%wrap(grid, u, stat=stat, errmsg=text)
    call check(stat == HALOCLINE_USAGE .and. index(text, 'expected_halo') > 0, 'a wider halo than expected')
    call field%wrap(grid, u, halo=1, stat=stat)
    call check(stat == HALOCLINE_OK, 'an array with padding')
  end subroutine

  pure integer(int64) function cells_of(box)
    type(halocline_box), intent(in) :: box
    cells_of = product(max(0_int64, box%upper - box%lower + 1))
  end function

  subroutine tells_errors()
    type(halocline_grid) :: grid
    type(halocline_field) :: field
    type(halocline_exchange) :: exchange
    real(real64), target :: u(5, 5), cube(20, 20, 20)
    character(500) :: text
    integer :: stat
    u = 0
    call grid%create(MPI_COMM_NULL, [16, 16], stat=stat, errmsg=text)
    call check(stat == HALOCLINE_USAGE .and. index(text, 'communicator is null') > 0, 'a null communicator')
    call grid%create(MPI_COMM_WORLD, [16, 16], process_grid=[all_ranks + 1, 1], stat=stat, errmsg=text)
    call check(stat == HALOCLINE_USAGE, 'a process grid too large')
    call field%wrap(grid, u, stat=stat, errmsg=text)
    call check(stat == HALOCLINE_USAGE .and. index(text, 'the grid does not exist') > 0, 'no grid')
    call grid%create(MPI_COMM_WORLD, [16, 16], stat=stat)
    call check(stat == HALOCLINE_OK, 'a good grid')
    call field%wrap(grid, u, halo=1, stat=stat, errmsg=text)
    call check(stat == HALOCLINE_USAGE .and. index(text, 'has 5 cells along x') > 0, 'a small array')
    call field%wrap(grid, u(:, 6:), stat=stat, errmsg=text)
    call check(stat == HALOCLINE_USAGE .and. index(text, 'no elements') > 0, 'an array without elements')
    call field%wrap(grid, cube, stat=stat, errmsg=text)
    call check(stat == HALOCLINE_USAGE .and. index(text, 'component_axis') > 0, 'too many axes')
    call field%wrap(grid, cube(:, 1, 1), stat=stat, errmsg=text)
    call check(stat == HALOCLINE_USAGE .and. index(text, 'the grid has 2 axes') > 0, 'too few axes')
    call field%wrap(grid, cube, component_axis=4, stat=stat, errmsg=text)
    call check(stat == HALOCLINE_USAGE .and. index(text, 'component_axis is 4') > 0, 'no such axis')
    call grid%create(MPI_COMM_WORLD, [16, 16, 16, 2], stat=stat, errmsg=text)
    call check(stat == HALOCLINE_USAGE .and. index(text, 'cells has 4 values') > 0, 'four axes')
    call grid%create(MPI_COMM_WORLD, [16, 16, 16], periodic=[.true.], stat=stat, errmsg=text)
    call check(stat == HALOCLINE_USAGE .and. index(text, 'periodic: 1; give one for each') > 0, 'one axis of three')
    call grid%create(MPI_COMM_WORLD, [16, 16], process_grid=[all_ranks], stat=stat, errmsg=text)
    call check(stat == HALOCLINE_USAGE .and. index(text, 'process_grid: 1') > 0, 'one part number of two')
    call grid%create(MPI_COMM_WORLD, [16, 16])
    call field%create(grid, 8, memory='attic', stat=stat, errmsg=text)
    call check(stat == HALOCLINE_USAGE .and. index(text, "no memory 'attic'") > 0, 'no such memory')
    call field%create(grid, 8)
    call exchange%start(stat=stat)
    call check(stat == HALOCLINE_USAGE, 'an exchange that is none')
    call exchange%create(grid, field, transport='pigeon', stat=stat, errmsg=text)
    call check(stat == HALOCLINE_USAGE .and. index(text, 'pigeon') > 0, 'no such transport')
    if (all_ranks > 1) then
      call exchange%create(grid, field, same_order=my_rank == 0, stat=stat, errmsg=text)
      call check(stat == HALOCLINE_USAGE .and. index(text, 'in any order') > 0, 'orders that differ')
    end if
    call exchange%create(grid, field, same_order=.true.)
    call exchange%finish(stat=stat, errmsg=text)
    call check(stat == HALOCLINE_USAGE .and. index(text, 'call start() first') > 0, 'finish without start')
    call exchange%start()
    call exchange%start(stat=stat, errmsg=text)
    call check(stat == HALOCLINE_USAGE .and. index(text, 'call finish() first') > 0, 'start twice')
    call exchange%finish()
    ! In any order, twice, and once more as they go out of scope.
    call grid%destroy()
    call field%destroy()
    call exchange%destroy()
    call exchange%destroy()
  end subroutine

end module

! A communicator of mpi_f08 is taken as it is, and the integer that it holds is one of mpi's.
subroutine takes_a_communicator_of_mpi_f08(stat, rank_there)
  use, intrinsic :: iso_fortran_env, only: int64
  use mpi_f08
  use halocline
  implicit none
  integer, intent(out) :: stat, rank_there
  type(MPI_Comm) :: half
  type(halocline_grid) :: grid
  integer :: rank
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), -rank, half)
  call grid%create(half, [32_int64], stat=stat)
  if (stat == 0) call grid%create(half, [32], stat=stat)
  rank_there = -1
  if (stat == 0) rank_there = grid%rank()
  if (stat == 0) call grid%create(half%mpi_val, [32], stat=stat)
  call grid%destroy()
  call MPI_Comm_free(half)
end subroutine

program test_fortran
  use binding_test
  implicit none
  interface
    subroutine takes_a_communicator_of_mpi_f08(stat, rank_there)
      integer, intent(out) :: stat, rank_there
    end subroutine
  end interface
  integer :: error, all_failures, stat, rank_there
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, my_rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, all_ranks, error)
  call fills_an_array_with_its_own_bounds()
  call fills_sections_of_two_kinds()
  call takes_addresses()
  call takes_widths_of_each_side()
  call takes_arrays_of_several_components()
  call splits_for_the_expected_sides()
  call takes_the_halo_that_the_grid_expects()
  call tells_errors()
  call takes_a_communicator_of_mpi_f08(stat, rank_there)
  call check(stat == HALOCLINE_OK .and. rank_there == (all_ranks - 1 - my_rank)/2, 'mpi_f08')
  call MPI_Allreduce(failures, all_failures, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
  if (my_rank == 0 .and. all_failures == 0) print '(a, i0, a)', 'the Fortran binding works on ', &
    all_ranks, ' ranks'
  call MPI_Finalize(error)
  if (all_failures > 0) error stop 1
end program
