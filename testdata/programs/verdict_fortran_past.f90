! Three threads take an element past the end of an array of locks: it is in an array of other integers (0), of integers of
! the same size that are no locks (2), or that could be locks (3). With 1, the index is in range, and a thread that works
! has the lock.
module grid
  use, intrinsic :: iso_c_binding
  use omp_lib
  implicit none
  include 'truth.fi'
  integer(omp_lock_kind), target :: locks(32)
  integer(8), target :: cells(64)
  integer(4), target :: counts(64)
contains
  subroutine add(i)
    integer(8), intent(in) :: i
    call omp_set_lock(locks(i))
    cells(1) = cells(1) + 1
    call omp_unset_lock(locks(i))
  end subroutine

  subroutine keep(i)
    integer(8), intent(in) :: i
    call omp_set_lock(locks(i))
    call truth_f_hold()
    call omp_unset_lock(locks(i))
  end subroutine

  integer(8) function index_of(address)
    integer(8), intent(in) :: address
    index_of = (address - transfer(c_loc(locks(1)), address)) / (storage_size(locks(1)) / 8) + 1
  end function
end module

program verdict_fortran_past
  use grid
  integer :: i, healthy
  integer(8) :: at
  healthy = truth_f_arg(1, 0)
  call truth_f_look(3)
  do i = 1, 32
    call omp_init_lock(locks(i))
  end do
  cells = 259 ! a lock that a thread has
  at = 7
  counts = 1 ! likewise
  if (healthy == 2) counts(30) = 400
  if (healthy == 0) at = index_of(transfer(c_loc(cells(32)), at))
  if (healthy >= 2) at = index_of(transfer(c_loc(counts(32)), at))
  !$omp parallel num_threads(3)
  call truth_f_region(48)
  if (healthy == 1 .and. omp_get_thread_num() == 0) then
    call keep(at)
  else
    call truth_f_wait("wait_lock" // c_null_char)
    call add(at)
  end if
  !$omp end parallel
end program
