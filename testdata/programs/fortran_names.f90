! The threads of a region stay in it. It is in an external procedure, or, with the argument 1, in the main program.
subroutine outer()
  use, intrinsic :: iso_c_binding
  implicit none
  include 'truth.fi'
  !$omp parallel num_threads(2)
  call truth_f_region(6)
  call truth_f_hold()
  call truth_f_never()
  !$omp end parallel
  call truth_f_never()
end subroutine

program fortran_names
  use, intrinsic :: iso_c_binding
  implicit none
  include 'truth.fi'
  call truth_f_look(2)
  if (truth_f_arg(1, 0) == 0) then
    call outer()
  else
    !$omp parallel num_threads(2)
    call truth_f_region(21)
    call truth_f_hold()
    call truth_f_never()
    !$omp end parallel
  end if
  call truth_f_never()
end program
