! Loops with dependences whose variables count down or by steps. Iteration 2 of 4, counted from 0, leaves without
! depend(source), and iteration 3 waits for it. The first argument selects the loop; a second one of 1: iteration 2
! takes long.
module layers
  use, intrinsic :: iso_c_binding
  use omp_lib
  implicit none
  include 'truth.fi'
  integer :: healthy = 0
  integer :: sums(0:3) = 0
contains
  subroutine before(n)
    integer, value :: n
    if (n == 3) call truth_f_wait("wait_ordered" // c_null_char)
  end subroutine

  logical function leaves(n)
    integer, value :: n
    sums(n) = sums(n) + 1
    if (n == 2 .and. healthy == 1) call truth_f_hold()
    leaves = n == 2
  end function

  subroutine down(from, to)
    integer, value :: from, to
    integer :: i
    !$omp do ordered(1) schedule(static, 1)
    do i = from, to, -2
      call before((from - i) / 2)
      !$omp ordered depend(sink: i + 2)
      if (leaves((from - i) / 2)) cycle
      !$omp ordered depend(source)
    end do
    !$omp end do nowait
  end subroutine

  subroutine wide(from, to)
    integer(8), value :: from, to
    integer(8) :: i
    !$omp do ordered(1) schedule(dynamic)
    do i = from, to, 4
      call before(int((i - from) / 4))
      !$omp ordered depend(sink: i - 4)
      if (leaves(int((i - from) / 4))) cycle
      !$omp ordered depend(source)
    end do
    !$omp end do nowait
  end subroutine

  subroutine nest(from, to)
    integer, value :: from, to
    integer :: i, j
    !$omp do ordered(2) schedule(static)
    do i = from, to, -3
      do j = to, from, 4
        if (j == to + 8) call before((from - i) / 3)
        !$omp ordered depend(sink: i + 3, j)
        if (j == to + 8) then
          if (leaves((from - i) / 3)) cycle
        end if
        !$omp ordered depend(source)
      end do
    end do
    !$omp end do nowait
  end subroutine

  subroutine small(from, to)
    integer(1), value :: from, to
    integer(1) :: i
    !$omp do ordered(1) schedule(guided)
    do i = from, to
      call before(int(i - from))
      !$omp ordered depend(sink: i - 1)
      if (leaves(int(i - from))) cycle
      !$omp ordered depend(source)
    end do
    !$omp end do nowait
  end subroutine

  subroutine chosen(from, to, step)
    integer, value :: from, to, step
    integer :: i
    !$omp do ordered(1) schedule(static)
    do i = from, to, step
      call before((i - from) / step)
      !$omp ordered depend(sink: i + 3)
      if (leaves((i - from) / step)) cycle
      !$omp ordered depend(source)
    end do
    !$omp end do nowait
  end subroutine
end module

program verdict_fortran_doacross_steps
  use layers
  integer :: way
  way = truth_f_arg(1, 0)
  healthy = truth_f_arg(2, 0)
  call truth_f_look(4)
  !$omp parallel num_threads(4)
  select case (way)
  case (0)
    call down(40, 34)
  case (1)
    call wide(10_8**10, 10_8**10 + 12)
  case (2)
    call nest(9, 0)
  case (3)
    call small(-120_1, -117_1)
  case (4)
    call chosen(20, 11, -3)
  end select
  call truth_f_wait("wait_barrier_explicit" // c_null_char)
  !$omp barrier
  !$omp end parallel
  if (sum(sums) == 0) call truth_f_never()
end program
