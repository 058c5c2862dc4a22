! Nested regions and a named critical section: thread 0 of an outer team of two forks an inner team of
! three. Its thread 0 is in the section and triggers, and the others wait for it. Thread 1 of the outer
! team waits at its end.
module tree
  use, intrinsic :: iso_c_binding
  implicit none
  interface
    subroutine truth_f_region(line) bind(c)
      import :: c_int
      integer(c_int), value :: line
    end subroutine
    subroutine truth_f_wait_critical(line) bind(c)
      import :: c_int
      integer(c_int), value :: line
    end subroutine
    subroutine truth_f_inside() bind(c)
    end subroutine
    subroutine truth_f_join(line) bind(c)
      import :: c_int
      integer(c_int), value :: line
    end subroutine
    subroutine truth_f_trigger(n) bind(c)
      import :: c_int
      integer(c_int), value :: n
    end subroutine
    subroutine omp_set_max_active_levels(n)
      integer :: n
    end subroutine
    integer(c_int) function omp_get_thread_num() bind(c)
      import :: c_int
    end function
  end interface
contains
  subroutine grow(depth)
    integer, value :: depth
    integer :: leaves(8)
    leaves = depth
    !$omp parallel num_threads(3) shared(leaves)
    call truth_f_region(38)
    if (omp_get_thread_num() /= 0) call truth_f_wait_critical(0)
    !$omp critical (ledger)
    leaves(omp_get_thread_num() + 1) = depth
    call truth_f_inside()
    call truth_f_trigger(3)
    !$omp end critical (ledger)
    !$omp end parallel
    if (sum(leaves) == 0) call truth_f_region(0)
  end subroutine
end module

program fortran_nested
  use tree
  call omp_set_max_active_levels(2)
  !$omp parallel num_threads(2)
  call truth_f_region(54)
  if (omp_get_thread_num() == 0) then
    call grow(2)
  else
    call truth_f_join(54)
  end if
  !$omp end parallel
end program
