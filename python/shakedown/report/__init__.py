"""What people see of runs: ``summary`` (text to paste), ``compare`` (side by side) and ``html`` (one offline page).

All three read run folders and nothing else. ``figures`` puts findings beside each other, ``published`` what others
measured; ``series`` makes lines of bounded length and ``pictures`` what a picture shows, drawn by ``page.js``.
"""
