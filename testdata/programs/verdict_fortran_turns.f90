! A deadlock of an ordered loop and a lock: thread 1 holds the lock and waits for its turn; it is the
! turn of thread 0, which wants the lock (0), or is at work and about to end its turn (1).
module journal
  use, intrinsic :: iso_c_binding
  use omp_lib
  implicit none
  include 'truth.fi'
  integer(omp_lock_kind) :: log_lock
contains
  subroutine early(what)
    integer, value :: what
    call truth_f_meet(2)
    if (what == 1) call truth_f_hold()
    call truth_f_wait("wait_lock" // c_null_char)
    call omp_set_lock(log_lock)
    call truth_f_never()
  end subroutine

  subroutine rows(what)
    integer, value :: what
    integer :: i, total
    total = 0
    !$omp parallel num_threads(2)
    call truth_f_region(23)
    !$omp do ordered schedule(static, 1)
    do i = 1, 2
      if (i == 1) call early(what)
      call omp_set_lock(log_lock)
      call truth_f_meet(2)
      call truth_f_wait("wait_ordered" // c_null_char)
      !$omp ordered
      total = total + i
      !$omp end ordered
      call omp_unset_lock(log_lock)
    end do
    !$omp end do
    !$omp end parallel
    if (total == 0) call truth_f_never()
  end subroutine
end module

program verdict_fortran_turns
  use journal
  call omp_init_lock(log_lock)
  call truth_f_look(2)
  call rows(truth_f_arg(1, 0))
end program
