! A loop with dependences: one iteration leaves without depend(source), and the next one waits for it
! (0); or the iteration takes long (1).
module rows
  use, intrinsic :: iso_c_binding
  use omp_lib
  implicit none
  include 'truth.fi'
contains
  subroutine sweep(what)
    integer, value :: what
    integer :: i
    integer :: a(5)
    a = 0
    !$omp parallel num_threads(4)
    call truth_f_region(14)
    !$omp do ordered(1) schedule(static, 1)
    do i = 2, 5
      if (i == 5) call truth_f_wait("wait_ordered" // c_null_char)
      !$omp ordered depend(sink: i - 1)
      a(i) = a(i - 1) + 1
      if (i == 4) then
        if (what == 1) call truth_f_hold()
        cycle
      end if
      !$omp ordered depend(source)
    end do
    !$omp end do nowait
    call truth_f_wait("wait_barrier_explicit" // c_null_char)
    !$omp barrier
    !$omp end parallel
    if (sum(a) == 0) call truth_f_never()
  end subroutine
end module

program verdict_fortran_doacross
  use rows
  call truth_f_look(4)
  call sweep(truth_f_arg(1, 0))
end program
