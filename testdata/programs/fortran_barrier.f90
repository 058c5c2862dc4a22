! An explicit barrier of three threads in a subroutine of a module: thread 2 never comes.
module work
  use, intrinsic :: iso_c_binding
  implicit none
  interface
    subroutine truth_f_region(line) bind(c)
      import :: c_int
      integer(c_int), value :: line
    end subroutine
    subroutine truth_f_sleep() bind(c)
    end subroutine
    subroutine truth_f_trigger(n) bind(c)
      import :: c_int
      integer(c_int), value :: n
    end subroutine
    subroutine truth_f_never() bind(c)
    end subroutine
    integer(c_int) function omp_get_thread_num() bind(c)
      import :: c_int
    end function
  end interface
contains
  subroutine together()
    !$omp parallel num_threads(3)
    call truth_f_region(24)
    if (omp_get_thread_num() == 2) then
      call truth_f_trigger(2)
    else
      call truth_f_sleep()
    end if
    !$omp barrier
    call truth_f_never()
    !$omp end parallel
  end subroutine
end module

program fortran_barrier
  use work
  call together()
end program
