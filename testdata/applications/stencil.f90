! A stencil: the heat of a plate, by Jacobi's method in parallel rows, and by waves, in which each row follows the
! one above it. -DBUG=N puts one mistake into it. TestInjectedBugs reads this list, and the lines that have HERE
! with the number of a mistake.
!
! BUG 1 spinning: the flag of a pipeline is not set for one row
! BUG 2 doacross_stuck: an iteration of a doacross loop is not posted on one path
! BUG 3 self_deadlock: a critical section calls a procedure that enters another of the same name
! BUG 4 stack_overflow: a private array is larger than the stack
! BUG 5 barrier_divergent: a barrier in a branch that one thread takes
! BUG 6 deadlock: the locks of neighbouring rows are taken in both orders
! BUG 7 lock_orphaned: the lock of a row is not released on one path
#ifndef BUG
#define BUG 0
#endif
module plate
  use omp_lib
  implicit none
  integer, parameter :: rows = 16, columns = 96
  real(8) :: heat(0:rows + 1, 0:columns + 1), next(0:rows + 1, 0:columns + 1)
  integer(omp_lock_kind) :: locks(rows)
  integer, volatile :: done(0:rows)
  real(8) :: warmest = 0
  interface
    subroutine give_way() bind(C, name="sched_yield")
    end subroutine
  end interface
contains
  subroutine warm(value)
    real(8), intent(in) :: value
    !$omp critical (extremes) ! HERE 3
    warmest = max(warmest, value)
    !$omp end critical (extremes)
  end subroutine

  ! One step of Jacobi's method.
  subroutine jacobi
    integer :: i, j
    real(8) :: most
#if BUG == 4
    real(8) :: histogram(200000)
    !$omp parallel private(i, j, most, histogram) ! HERE 4
    if (omp_get_thread_num() == omp_get_num_threads() - 1) histogram = 0 ! HERE 4
#else
    !$omp parallel private(i, j, most) ! HERE 5
#endif
    most = 0
    !$omp do
    do i = 1, rows
      do j = 1, columns
        next(i, j) = (heat(i - 1, j) + heat(i + 1, j) + heat(i, j - 1) + heat(i, j + 1)) / 4
        most = max(most, next(i, j))
#if BUG == 4
        histogram(1 + mod(int(next(i, j)), 200000)) = j ! HERE 4
#endif
      end do
    end do
    !$omp end do
#if BUG == 3
    !$omp critical (extremes)
    call warm(most) ! HERE 3
    !$omp end critical (extremes)
#else
    call warm(most)
#endif
#if BUG == 4
    !$omp critical (extremes)
    warmest = max(warmest, sum(histogram) * 1d-300)
    !$omp end critical (extremes)
#endif
#if BUG == 5
    if (omp_get_thread_num() /= 1) then ! HERE 5
      !$omp barrier ! HERE 5
    end if
#endif
    !$omp do ! HERE 5
    do i = 1, rows
      heat(i, 1:columns) = next(i, 1:columns)
    end do
    !$omp end do ! HERE 5
    !$omp end parallel
  end subroutine

  ! A wave through the rows: each thread computes a row when the one above it is done.
  subroutine pipeline
    integer :: i, j
    done = 0
    done(0) = 1
    !$omp parallel private(i, j)
    do i = 1 + omp_get_thread_num(), rows, omp_get_num_threads()
      do while (done(i - 1) == 0) ! HERE 1
        !$omp flush ! HERE 1
        call give_way ! HERE 1
      end do
      do j = 1, columns
        heat(i, j) = (heat(i - 1, j) + heat(i, j) + heat(i, j - 1)) / 3
      end do
#if BUG == 1
      if (i == 10) cycle
#endif
      !$omp flush
      done(i) = 1
    end do
    !$omp end parallel
  end subroutine

#ifdef DOACROSS
  ! The same as a loop whose iterations wait for each other.
  subroutine wave
    integer :: i, j
    !$omp parallel do ordered(1) schedule(static, 1) private(j)
    do i = 1, rows
      !$omp ordered depend(sink: i - 1) ! HERE 2
      do j = 1, columns
        heat(i, j) = (heat(i - 1, j) + heat(i, j) + heat(i, j - 1)) / 3
      end do
#if BUG == 2
      if (i == 10) cycle
#endif
      !$omp ordered depend(source)
    end do
    !$omp end parallel do
  end subroutine
#endif

  ! Neighbouring rows exchange heat: two locks protect a pair.
  subroutine exchange
    integer :: i, first, second
    real(8) :: moved
    !$omp parallel do private(first, second, moved) schedule(static, 1)
    do i = 1, rows - 1
      first = i
      second = i + 1
#if BUG == 6
      if (mod(i, 2) == 0) then
        second = i - 1
      end if
#endif
      call omp_set_lock(locks(first)) ! HERE 6 7
#if BUG == 6
      call give_way
#endif
      call omp_set_lock(locks(second)) ! HERE 6 7
      moved = (heat(i, 1) - heat(i + 1, 1)) / 8
#if BUG == 7
      if (i == 10) then ! HERE 7
        call omp_unset_lock(locks(first))
        cycle ! HERE 7
      end if
#endif
      heat(i, 1) = heat(i, 1) - moved
      heat(i + 1, 1) = heat(i + 1, 1) + moved
      call omp_unset_lock(locks(second))
      call omp_unset_lock(locks(first))
    end do
    !$omp end parallel do
  end subroutine
end module

program stencil
  use plate
  implicit none
  integer :: i, round, rounds
  character(len=16) :: argument
  rounds = 1
  call get_command_argument(1, argument)
  if (len_trim(argument) > 0) read (argument, *) rounds
  do i = 1, rows
    call omp_init_lock(locks(i))
  end do
  heat = 0
  heat(0, :) = 100
  do round = 1, rounds
    call jacobi
    call pipeline
#ifdef DOACROSS
    call wave
#endif
    call exchange
  end do
  print '(f8.3)', warmest
  if (warmest <= 0 .or. warmest > 100) error stop
end program
