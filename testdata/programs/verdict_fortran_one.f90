! A region of one thread: it called omp_set_num_threads(1) (0), has num_threads(1) (1), or a false if
! clause (2).
program verdict_fortran_one
  use, intrinsic :: iso_c_binding
  use omp_lib
  implicit none
  include 'truth.fi'
  integer :: what
  what = truth_f_arg(1, 0)
  call truth_f_look(1)
  if (what == 0) call omp_set_num_threads(1)
  if (what == 1) then
    !$omp parallel num_threads(what)
    call truth_f_hold()
    !$omp end parallel
  else if (what == 2) then
    !$omp parallel if (what > 99)
    call truth_f_hold()
    !$omp end parallel
  else
    !$omp parallel
    call truth_f_hold()
    !$omp end parallel
  end if
end program
