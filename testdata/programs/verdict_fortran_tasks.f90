! A thread holds a lock that a running task wants, and waits in a taskwait for a task that depends on
! the running task (0), or for the running task itself (1). With 2, the running task works.
module queue
  use, intrinsic :: iso_c_binding
  use omp_lib
  implicit none
  include 'truth.fi'
  integer(omp_lock_kind) :: table
  integer :: rows, columns
contains
  subroutine child(what)
    integer, value :: what
    call truth_f_meet(2)
    call truth_f_meet(4)
    if (what == 2) call truth_f_hold()
    call truth_f_wait("wait_lock" // c_null_char)
    call omp_set_lock(table)
    call truth_f_never()
  end subroutine

  subroutine parent(what)
    integer, value :: what
    !$omp task depend(out: rows) firstprivate(what)
    call child(what)
    !$omp end task
    call truth_f_meet(2) ! the other thread runs it, from the barrier
    call omp_set_lock(table)
    call truth_f_meet(4)
    if (what /= 1) then
      !$omp task depend(in: rows)
      columns = columns + 1
      !$omp end task
    end if
    call truth_f_wait("wait_taskwait" // c_null_char)
    !$omp taskwait
    call truth_f_never()
    call omp_unset_lock(table)
  end subroutine
end module

program verdict_fortran_tasks
  use queue
  integer :: what
  what = truth_f_arg(1, 0)
  call omp_init_lock(table)
  call truth_f_look(2)
  !$omp parallel num_threads(2)
  call truth_f_region(47)
  if (omp_get_thread_num() == 0) call parent(what)
  !$omp end parallel
end program
