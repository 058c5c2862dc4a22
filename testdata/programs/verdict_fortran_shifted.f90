! A barrier that is passed by another number of threads than the next one, so that the team hangs at barriers after it:
! one thread returns between two barriers (0), or leaves a loop with a barrier early (1). All threads come to all
! barriers, and one is at work (2).
module sweep
  use, intrinsic :: iso_c_binding
  use omp_lib
  implicit none
  include 'truth.fi'
  integer, save :: total = 0
contains
  subroutine count()
    !$omp atomic
    total = total + 1
  end subroutine

  subroutine returns(leaves)
    logical, value :: leaves
    !$omp barrier
    call count()
    if (leaves) return
    call count()
    !$omp barrier
    call count()
  end subroutine

  subroutine steps(last)
    integer, value :: last
    integer :: i
    do i = 1, 3
      call count()
      if (i > last) exit
      !$omp barrier
    end do
    call count()
  end subroutine

  subroutine one_returns()
    integer :: me
    !$omp parallel num_threads(3) private(me)
    me = omp_get_thread_num()
    call truth_f_wait("wait_barrier" // c_null_char)
    call returns(me == 1)
    call count()
    !$omp end parallel
  end subroutine

  subroutine one_exits()
    integer :: me
    !$omp parallel num_threads(3) private(me)
    me = omp_get_thread_num()
    call truth_f_wait("wait_barrier" // c_null_char)
    call steps(merge(1, 3, me == 2))
    call count()
    !$omp end parallel
  end subroutine

  subroutine all_come()
    integer :: me
    !$omp parallel num_threads(3) private(me)
    me = omp_get_thread_num()
    call truth_f_wait("wait_barrier" // c_null_char)
    call returns(.false.)
    call steps(3)
    if (me == 2) call truth_f_hold()
    !$omp barrier
    call count()
    !$omp end parallel
  end subroutine
end module

program verdict_fortran_shifted
  use sweep
  integer :: what
  what = truth_f_arg(1, 0)
  call truth_f_look(3)
  if (what == 0) call one_returns()
  if (what == 1) call one_exits()
  if (what == 2) call all_come()
  if (total == 0) call truth_f_never()
end program
