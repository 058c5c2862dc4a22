! Variables of Fortran: allocatable and assumed-shape arrays, derived types, a common block and
! strings, in a subroutine that two threads execute. The tests of dap compare them with gdb's.
module shapes
  use, intrinsic :: iso_c_binding
  implicit none
  type point
    real(8) :: x, y
  end type
  type polygon
    character(len=6) :: name
    integer :: sides
    type(point) :: corners(2)
    real, allocatable :: weights(:)
    type(point), pointer :: center
  end type
  integer, allocatable :: counts(:)
  type(polygon), target :: kept
  include 'truth.fi'
contains
  subroutine hold(number, matrix, label, limit)
    integer, intent(in) :: number
    real(8), intent(in) :: matrix(:, 0:)
    character(len=*), intent(in) :: label
    integer, intent(in), optional :: limit
    integer :: total, series(3:5)
    real(8), allocatable :: work(:, :), unused(:)
    real(8), pointer :: column(:)
    real(8), target :: stored(2, 3)
    logical :: first
    complex :: turn
    common /settings/ level, factor
    integer :: level
    real :: factor
    allocate (work(2, -1:1))
    work = number
    work(2, 1) = 2.5d0
    stored = 1.5d0
    stored(1, 2) = matrix(2, 0)
    column => stored(1, :)
    series = (/ 30, 40, 50 /)
    first = number == 0
    turn = (1.0, -2.0)
    total = size(work) + series(4) + len(label)
    call truth_f_hold()
    if (present(limit)) total = limit
    if (total + column(1) + real(turn) + level + factor + sum(work) < 0 .or. allocated(unused)) print *, total, label
  end subroutine
end module

program fortran_values
  use omp_lib
  use shapes
  implicit none
  common /settings/ level, factor
  integer :: level
  real :: factor
  real(8) :: matrix(3, 4)
  type(point), target :: middle
  level = 3
  factor = 0.5
  matrix = 4.25d0
  allocate (counts(4), kept%weights(2))
  counts = (/ 1, 2, 3, 4 /)
  middle = point(7d0, 8d0)
  kept%name = "square"
  kept%sides = 4
  kept%corners(1) = point(0d0, 1d0)
  kept%corners(2) = point(2d0, 3d0)
  kept%weights = 0.25
  kept%center => middle
  call truth_f_look(2)
  !$omp parallel num_threads(2)
  call hold(omp_get_thread_num(), matrix(1:3:2, :), "label")
  !$omp end parallel
end program
