launches tests/golden/launches.sh
