! A deadlock of two locks in the usual places of Fortran programs: in a module (0), in a common
! block (1), in an array with another lower bound (2), in a derived type (3), on the heap (4),
! in a local variable of the procedure with the region (5). With 6, one thread acquires a lock twice;
! with 7, one thread waits for the lock of
! another, which is at work.
module bank
  use, intrinsic :: iso_c_binding
  use omp_lib
  implicit none
  include 'truth.fi'
  type account
    integer(8) :: balance
    integer(omp_lock_kind) :: lock
  end type
  integer(omp_lock_kind) :: first, second
  integer(omp_lock_kind) :: locks(-1:4)
  type(account) :: accounts(3)
  integer(omp_lock_kind), allocatable :: heap(:)
contains
  subroutine transfer(mine, other, what)
    integer(omp_lock_kind), intent(inout) :: mine, other
    integer, value :: what
    call omp_set_lock(mine)
    if (what /= 6) call truth_f_meet(2)
    if (what == 7) call truth_f_hold()
    call truth_f_wait("wait_lock" // c_null_char)
    call omp_set_lock(other)
    call truth_f_never()
    call omp_unset_lock(other)
    call omp_unset_lock(mine)
  end subroutine

  subroutine behind(lock)
    integer(omp_lock_kind), intent(inout) :: lock
    call truth_f_meet(2)
    call truth_f_wait("wait_lock" // c_null_char)
    call omp_set_lock(lock)
    call truth_f_never()
    call omp_unset_lock(lock)
  end subroutine

  subroutine both(a, b, what)
    integer(omp_lock_kind), intent(inout) :: a, b
    integer, value :: what
    call omp_init_lock(a)
    call omp_init_lock(b)
    !$omp parallel num_threads(2)
    call truth_f_region(47)
    if (omp_get_thread_num() == 0 .and. what == 6) then
      call transfer(a, a, what)
    else if (omp_get_thread_num() == 0) then
      call transfer(a, b, what)
    else if (what == 6) then
      call truth_f_hold()
    else if (what == 7) then
      call behind(a)
    else
      call transfer(b, a, what)
    end if
    !$omp end parallel
  end subroutine

  subroutine local(what)
    integer, value :: what
    integer(omp_lock_kind), target :: debit, credit
    integer(omp_lock_kind), pointer :: mine, other
    call omp_init_lock(debit)
    call omp_init_lock(credit)
    !$omp parallel num_threads(2) private(mine, other)
    call truth_f_region(69)
    mine => debit
    other => credit
    if (omp_get_thread_num() == 1) then
      mine => credit
      other => debit
    end if
    call transfer(mine, other, what)
    !$omp end parallel
  end subroutine
end module

program verdict_fortran_locks
  use bank
  integer :: what
  integer(omp_lock_kind) :: paid, unpaid
  common /ledger/ paid, unpaid
  what = truth_f_arg(1, 0)
  call truth_f_look(2)
  select case (what)
  case (1)
    call both(paid, unpaid, what)
  case (2)
    call both(locks(0), locks(3), what)
  case (3)
    call both(accounts(2)%lock, accounts(3)%lock, what)
  case (4)
    allocate (heap(8))
    call both(heap(2), heap(5), what)
  case (5)
    call local(what)
  case default
    call both(first, second, what)
  end select
end program
