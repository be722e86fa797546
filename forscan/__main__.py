from forscan.cli import main

if __name__ == "__main__":
    main()
