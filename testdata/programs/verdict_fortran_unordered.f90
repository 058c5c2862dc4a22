! An ordered construct in a procedure that is called from a loop without an ordered clause (0); or a thread is at work
! in it (1). LLVM's runtime lets the members of the team take turns: the second loop hangs, because one member has no
! iteration.
module journal
  use, intrinsic :: iso_c_binding
  use omp_lib
  implicit none
  include 'truth.fi'
  integer, save :: last = 0, works = 0
contains
  subroutine log_row(row)
    integer :: row
    !$omp ordered
    if (works == 1 .and. row == 1) call truth_f_hold()
    last = row
    !$omp end ordered
    last = last + 1
  end subroutine
  subroutine kernel(rows)
    integer, value :: rows
    integer :: i
    !$omp do schedule(static)
    do i = 1, rows
      call log_row(i)
    end do
    !$omp end do
    last = last + 1
  end subroutine
end module

program verdict_fortran_unordered
  use journal
  works = truth_f_arg(1, 0)
  call truth_f_look(3)
  !$omp parallel num_threads(3)
  call truth_f_wait("wait_ordered" // c_null_char)
  call kernel(2)
  call kernel(2)
  !$omp end parallel
  if (last == 0) call truth_f_never()
end program
