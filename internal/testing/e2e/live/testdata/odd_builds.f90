! odd_builds.f90 WAY: two of four threads acquire two locks. Then, by WAY:
! 0: each waits for the lock of the other;
! 1: thread 0 works with both locks, and the others wait for it.
module deeds
  use iso_c_binding
  implicit none
  integer(c_intptr_t), target :: ledger, journal
  integer :: way = 0, meet = 0, begun = 0
  integer, volatile :: total = 0
contains
  subroutine work()
    !$omp atomic write
    begun = 1
    do
      total = total + 1
    end do
  end subroutine

  subroutine await(count, limit)
    integer, intent(inout) :: count
    integer, intent(in) :: limit
    integer :: n
    do
      !$omp atomic read
      n = count
      if (n >= limit) exit
    end do
  end subroutine

  subroutine transfer_money(one, two)
    integer(c_intptr_t), intent(inout) :: one, two
    call omp_set_lock(one)
    if (way == 0) then
      !$omp atomic
      meet = meet + 1
      call await(meet, 2)
    end if
    call omp_set_lock(two)
    if (way == 1) call work()
    total = total + 1
    call omp_unset_lock(two)
    call omp_unset_lock(one)
  end subroutine
end module

program odd_builds
  use deeds
  implicit none
  integer, external :: omp_get_thread_num
  character(8) :: text
  call get_command_argument(1, text)
  if (text == '1') way = 1
  call omp_init_lock(ledger)
  call omp_init_lock(journal)
  print '(a)', 'READY'
  flush (6)
  !$omp parallel num_threads(4)
  if (omp_get_thread_num() == 0) call transfer_money(ledger, journal)
  if (omp_get_thread_num() == 1) then
    if (way == 1) call await(begun, 1)
    if (way == 0) call transfer_money(journal, ledger)
    if (way == 1) call transfer_money(ledger, journal)
  end if
  !$omp barrier
  !$omp atomic
  total = total + 1
  !$omp end parallel
end program
