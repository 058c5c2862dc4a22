! Threads of a team wait for each other, or only seem to: in two named critical sections that are
! entered in opposite order (0), for two nest locks, one of them acquired twice (1), at a barrier that
! the others skipped (2), at a barrier within a critical section that another thread wants (3). With
! 4, one thread is at work and two wait for it at a barrier; with 5, one is at work in a critical
! section that another waits for.
module office
  use, intrinsic :: iso_c_binding
  use omp_lib
  implicit none
  include 'truth.fi'
  integer(omp_nest_lock_kind) :: tree, leaf
contains
  subroutine book()
    !$omp critical (ledger)
    call truth_f_meet(2)
    call truth_f_wait("wait_critical" // c_null_char)
    !$omp critical (audit)
    call truth_f_never()
    !$omp end critical (audit)
    !$omp end critical (ledger)
  end subroutine

  subroutine check()
    !$omp critical (audit)
    call truth_f_meet(2)
    call truth_f_wait("wait_critical" // c_null_char)
    !$omp critical (ledger)
    call truth_f_never()
    !$omp end critical (ledger)
    !$omp end critical (audit)
    call truth_f_await(0) ! unlike the end of book, which the compiler would take for the same code
  end subroutine

  subroutine down()
    call omp_set_nest_lock(tree)
    call omp_set_nest_lock(tree)
    call truth_f_meet(2)
    call truth_f_wait("wait_lock" // c_null_char)
    call omp_set_nest_lock(leaf)
    call truth_f_never()
    call omp_unset_nest_lock(leaf)
    call omp_unset_nest_lock(tree)
  end subroutine

  subroutine up()
    call omp_set_nest_lock(leaf)
    call truth_f_meet(2)
    call truth_f_wait("wait_lock" // c_null_char)
    call omp_set_nest_lock(tree)
    call truth_f_never()
  end subroutine

  subroutine gather()
    call truth_f_wait("wait_barrier_explicit" // c_null_char)
    !$omp barrier
    call truth_f_never()
  end subroutine

  subroutine enter(inside)
    integer, value :: inside
    if (inside == 0) then
      call truth_f_meet(2)
      call truth_f_wait("wait_critical" // c_null_char)
    end if
    !$omp critical (room)
    call truth_f_meet(2)
    if (inside == 2) call truth_f_hold()
    call gather()
    !$omp end critical (room)
  end subroutine

  subroutine act(what, me)
    integer, value :: what, me
    select case (what)
    case (0)
      if (me == 0) call book()
      if (me == 1) call check()
    case (1)
      if (me == 0) call down()
      if (me == 1) call up()
    case (2)
      if (me == 1) call gather()
      call truth_f_join(104)
    case (3)
      call enter(me)
    case (4)
      if (me == 2) call truth_f_hold()
      call gather()
    case (5)
      call enter(2 * me)
    end select
  end subroutine
end module

program verdict_fortran_waits
  use office
  integer :: what, n
  what = truth_f_arg(1, 0)
  n = 2
  if (what == 2 .or. what == 4) n = 3
  call omp_init_nest_lock(tree)
  call omp_init_nest_lock(leaf)
  call truth_f_look(n)
  !$omp parallel num_threads(n)
  call truth_f_region(104)
  call act(what, omp_get_thread_num())
  !$omp end parallel
end program
