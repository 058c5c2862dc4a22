! A worker crashes: a local array is larger than its stack (0), it uses a null pointer while it holds a
! lock that another thread waits for (1), a procedure calls itself without end (2), or it reads a text
! through a null pointer (3).
module grid
  use, intrinsic :: iso_c_binding
  use omp_lib
  implicit none
  include 'truth.fi'
  integer(omp_lock_kind) :: rows
  real(8), pointer :: cells(:) => null()
  abstract interface
    real(8) function summary(n)
      integer, value :: n
    end function
  end interface
  procedure(summary), pointer :: compute => null() ! what is called through it is not inlined
contains
  real(8) function mean(n)
    integer, value :: n
    real(8) :: all(4194304) ! 32 MiB
    integer :: i
    do i = 1, n
      all(i) = i
    end do
    do i = 2, n
      all(i) = all(mod(i * 7, i) + 1) + all(i - 1)
    end do
    mean = all(n) / n
  end function

  recursive subroutine smooth(depth, change)
    integer, value :: depth
    real(8), intent(inout) :: change(16)
    real(8) :: next(16)
    next = change + depth
    call smooth(depth + 1, next)
    change = next
  end subroutine

  subroutine fill(i)
    integer, value :: i
    call omp_set_lock(rows)
    call truth_f_meet(2)
    call truth_f_await(1)
    call truth_f_write()
    cells(i) = 1
    call omp_unset_lock(rows)
  end subroutine

  subroutine wait_for_rows()
    call truth_f_meet(2)
    call truth_f_wait("wait_lock" // c_null_char)
    call omp_set_lock(rows)
    call truth_f_never()
  end subroutine

  subroutine work(what)
    integer, value :: what
    real(8) :: change(16)
    character(8), pointer :: entry
    nullify (entry)
    select case (what)
    case (0)
      call truth_f_write()
      if (compute(4194304) < 0) call truth_f_never()
    case (1)
      call fill(1)
    case (2)
      call truth_f_write()
      change = 0
      call smooth(1, change)
    case (3)
      call truth_f_write()
      read (entry, *) change(1)
    end select
  end subroutine
end module

program verdict_fortran_died
  use grid
  integer :: what
  what = truth_f_arg(1, 0)
  call omp_init_lock(rows)
  compute => mean
  !$omp parallel num_threads(2)
  call truth_f_region(79)
  if (omp_get_thread_num() == 1) then
    call work(what)
  else if (what == 1) then
    call wait_for_rows()
  else
    call truth_f_hold()
  end if
  !$omp end parallel
end program
