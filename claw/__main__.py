from claw.cli import main

main()
