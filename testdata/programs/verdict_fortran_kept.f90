! Threads wait for a lock that was acquired in an earlier region, by a thread that did not release it and
! no longer executes code that would.
module store
  use, intrinsic :: iso_c_binding
  use omp_lib
  implicit none
  include 'truth.fi'
  integer(omp_lock_kind) :: cache
contains
  subroutine fill(size)
    integer, value :: size
    call omp_set_lock(cache)
    if (size > 99) call omp_unset_lock(cache) ! the way out that was taken lacks this
  end subroutine

  subroutine use_cache()
    call truth_f_wait("wait_lock" // c_null_char)
    call omp_set_lock(cache)
    call truth_f_never()
    call omp_unset_lock(cache)
  end subroutine
end module

program verdict_fortran_kept
  use store
  call omp_init_lock(cache)
  !$omp parallel num_threads(2)
  if (omp_get_thread_num() == 1) call fill(omp_get_num_threads())
  !$omp end parallel
  call truth_f_look(2)
  !$omp parallel num_threads(2)
  call truth_f_region(31)
  call use_cache()
  !$omp end parallel
end program
