! A function in the list of an I/O statement waits for a critical section, and the thread in that section writes to the
! same unit, which is locked until the statement ends. Argument of 1: the thread in the section works instead.
module report
  use, intrinsic :: iso_c_binding
  use omp_lib
  implicit none
  include 'truth.fi'
  integer :: booked = 0
contains
  function total() result(sum)
    integer :: sum
    call truth_f_meet(2)
    call truth_f_wait("wait_critical" // c_null_char)
    !$omp critical (ledger)
    sum = booked
    !$omp end critical (ledger)
  end function

  subroutine print_total()
    write (20, *) total()
    call truth_f_never()
  end subroutine

  subroutine book(works)
    integer, value :: works
    !$omp critical (ledger)
    call truth_f_meet(2)
    if (works == 1) call truth_f_hold()
    call truth_f_wait("wait_mutex" // c_null_char)
    write (20, *) booked
    call truth_f_never()
    !$omp end critical (ledger)
  end subroutine
end module

program verdict_fortran_unit
  use report
  implicit none
  integer :: works
  works = truth_f_arg(1, 0)
  open (unit=20, status='scratch')
  call truth_f_look(2)
  !$omp parallel num_threads(2)
  call truth_f_region(43)
  if (omp_get_thread_num() == 0) then
    call print_total()
  else
    call book(works)
  end if
  !$omp end parallel
end program
