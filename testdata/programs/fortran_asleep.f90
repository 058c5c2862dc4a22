! One thread sleeps in a named critical section that the others wait for.
module grid
  use, intrinsic :: iso_c_binding
  use omp_lib
  implicit none
  include 'truth.fi'
  interface
    subroutine truth_f_wait_critical(line) bind(c)
      import :: c_int
      integer(c_int), value :: line
    end subroutine
    subroutine truth_f_inside() bind(c)
    end subroutine
  end interface
contains
  subroutine relax()
    if (omp_get_thread_num() /= 1) call truth_f_wait_critical(0)
    !$omp critical(halo)
    call truth_f_inside()
    call sleep(100000)
    !$omp end critical(halo)
  end subroutine
end module

program fortran_asleep
  use grid
  call truth_f_look(2)
  !$omp parallel num_threads(3)
  call truth_f_region(29)
  call relax()
  call truth_f_never()
  !$omp end parallel
end program
