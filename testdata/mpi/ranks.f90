! A hybrid program of MPI and OpenMP, in Fortran: rank BAD does what KIND says, and the others
! wait for it. It is compiled with USE mpi, and with -DF08 with USE mpi_f08.
program ranks
#ifdef F08
    use mpi_f08
#else
    use mpi
#endif
    use omp_lib
    implicit none
    character(32) :: kind, number
    integer :: bad, me, size, provided, err, step
    double precision :: in, out
    call get_command_argument(1, kind)
    call get_command_argument(2, number)
    read (number, *) bad
    call MPI_Init_thread(MPI_THREAD_FUNNELED, provided, err)
    call MPI_Comm_rank(MPI_COMM_WORLD, me, err)
    call MPI_Comm_size(MPI_COMM_WORLD, size, err)
    do step = 0, huge(step) - 1
        in = residual()
        if (step == 3 .and. me == 0) then
            print '(a)', 'READY'
            flush (6)
        end if
        if (step == 3 .and. kind == 'ring') call receive(modulo(me + 1, size))
        if (step == 3 .and. me == bad) call fault()
        call MPI_Allreduce(in, out, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, err)
        call sleep_a_bit()
    end do
    call MPI_Finalize(err)
contains
    double precision function residual()
        integer :: i
        double precision :: sum
        sum = 0
        !$omp parallel do reduction(+ : sum)
        do i = 1, 1000
            sum = sum + i
        end do
        residual = sum
    end function

    subroutine sleep_a_bit()
        integer(8) :: now, until, rate
        call system_clock(now, rate)
        until = now + rate/500
        do while (now < until)
            call system_clock(now)
        end do
    end subroutine

    subroutine receive(from)
        integer, intent(in) :: from
        character(16) :: text
#ifdef F08
        type(MPI_Status) :: status
#else
        integer :: status(MPI_STATUS_SIZE)
#endif
        call MPI_Recv(text, 16, MPI_CHARACTER, from, 77, MPI_COMM_WORLD, status, err)
    end subroutine

    subroutine fault()
        integer(omp_lock_kind) :: lock
        if (kind == 'receive') call receive(modulo(me + 1, size))
        if (kind == 'barrier') call MPI_Barrier(MPI_COMM_WORLD, err)
        if (kind == 'deadlock') then
            call omp_init_lock(lock)
            call omp_set_lock(lock)
            !$omp parallel num_threads(2) shared(lock)
            if (omp_get_thread_num() == 1) call omp_set_lock(lock)
            !$omp barrier
            !$omp end parallel
        end if
    end subroutine
end program
