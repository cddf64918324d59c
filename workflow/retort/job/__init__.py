"""What a job needs: its context, its attempts, its claim, and the server of forks; it reads only the modules above."""
